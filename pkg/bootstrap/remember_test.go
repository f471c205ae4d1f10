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
	told := "work=work resume=resume wanted=wants/unit\nsync() { echo sync; }\nmv() { echo \"mv $3\"; command mv \"$@\"; }\nln() { echo \"ln $3\"; command ln \"$@\"; }\n"
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
