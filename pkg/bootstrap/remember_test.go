package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The unit for the next boot is on the disk before it gets its name, and has its name before a link
// wants it. So a power cut leaves no empty unit, which systemd takes as a masked one, and no unit
// without its script.
func TestRememberedBeforeItIsWanted(t *testing.T) {
	text, err := example().Shell()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, "\nremember() {")
	body, _, found := strings.Cut(after, "\n}\n")
	if !found {
		t.Fatal("the script remembers nothing")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "user-data")
	// Each command whose order matters prints that it was called.
	told := "self=$0 work=work resume=resume wanted=wants/unit\nsync() { echo sync; }\nmv() { echo \"mv $3\"; command mv \"$@\"; }\nln() { echo \"ln $3\"; command ln \"$@\"; }\n"
	if err := os.WriteFile(path, []byte(told+"remember() {"+body+"\n}\nremember\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-eu", path)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if want := "sync\nmv work/script\nmv resume\nln wants/unit\nsync\n"; err != nil || string(out) != want {
		t.Errorf("%v: it went\n%swant\n%s", err, out, want)
	}
	unit, err := os.ReadFile(filepath.Join(dir, "resume"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/bin/sh work/script\n") {
		t.Errorf("the unit is %q (%v)", unit, err)
	}
}

// cloud-init does not run the script again. So the script says how a person does, where no mirror
// has the agent. A script that is piped into a shell has no file, also where $0 is the shell's
// path, and nothing is remembered of it. The lines that keep it: bootstrap.sh, self.
func TestTheScriptKnowsItsFile(t *testing.T) {
	text, err := example().Shell()
	if err != nil {
		t.Fatal(err)
	}
	settings, _, _ := strings.Cut(text, "\n# To whoever looks:")
	_, after, _ := strings.Cut(text, "\ndownload() {")
	body, _, found := strings.Cut(after, "\n}\n")
	if !found {
		t.Fatal("the script downloads nothing")
	}
	script := settings + "\narch=amd64 want=abc\nonce() { later=; return 1; }\nfail() { echo \"$*\"; exit; }\ndownload() {" + body + "\n}\ndownload mirror\n"
	path := filepath.Join(t.TempDir(), "part-001")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	piped := exec.Command("/bin/sh")
	piped.Stdin = strings.NewReader(script)
	const want = "Put netwright for amd64 with the sha256 abc onto a mirror"
	for cmd, want := range map[*exec.Cmd]string{exec.Command("/bin/sh", path): want + " and say: sh " + path + ", or", piped: want + ", or"} {
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: it says %q, want %q", err, out, want)
		}
	}
}

// A running daemon gets its other file by a restart, also one that still starts. A daemon reads its
// file only at its start, and with a store that does not answer the start lasts minutes. The line
// that keeps it: bootstrap.sh, put.
func TestADaemonThatStartsGetsItsOtherFile(t *testing.T) {
	text, err := example().Shell()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text, "\nput() {")
	body, _, found := strings.Cut(after, "\n}\n")
	if !found {
		t.Fatal("the script puts no file")
	}
	for state, want := range map[string]string{"active": "1", "reloading": "1", "activating": "1", "deactivating": "", "inactive": "", "failed": ""} {
		// The codes are those of systemctl(1): 0 if the unit is up.
		code := "3"
		if state == "active" || state == "reloading" {
			code = "0"
		}
		script := "set -eu\nunit=netwright-agent.service restart=''\nsync() { :; }\n" +
			"systemctl() { case \" $* \" in *' -q '*) ;; *) echo " + state + " ;; esac; return " + code + "; }\n" +
			"put() {" + body + "\n}\nput " + filepath.Join(t.TempDir(), "agent.yaml") + " 'store: /srv'\nprintf %s \"$restart\"\n"
		out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("of a daemon that is %s it says %q (%v), want %q", state, out, err, want)
		}
	}
}
