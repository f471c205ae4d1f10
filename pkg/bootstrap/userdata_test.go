package bootstrap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/netwright/netwright/test/needs"
)

var digest = strings.Repeat("9f86d081", 8)

func example() UserData {
	return UserData{
		Mirrors:   map[string][]string{"amd64": {"https://a.example.com/netwright-amd64"}},
		SHA256:    map[string]string{"amd64": digest},
		AgentFile: "store: s3://config/fleet\ncluster: demo.example.com\npin: " + digest + "\n",
	}
}

// The longest user-data of a fleet still fits: eight mirrors with long names for each architecture,
// four trusted keys, every other field.
func TestWorstCaseFits(t *testing.T) {
	var file strings.Builder
	file.WriteString("store: s3://" + strings.Repeat("b", 63) + strings.Repeat("/prefix", 20) + "\ncluster: " + strings.Repeat("c", 63) + ".example.com\nnodeGroup: " + strings.Repeat("g", 63) +
		"\nnode: " + strings.Repeat("n", 63) + "\npin: " + digest + "\ninterval: 10m\nprobes: [tcp:10.0.0.1:443, ping:10.0.0.1, dns:10.0.0.2]\nprobeWindow: 30s\ntrustedKeys:\n")
	for range 4 {
		file.WriteString("- RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n")
	}
	u := UserData{Mirrors: map[string][]string{}, SHA256: map[string]string{}, AgentFile: file.String()}
	for _, arch := range Architectures {
		u.SHA256[arch] = digest
		for i := range 8 {
			u.Mirrors[arch] = append(u.Mirrors[arch], fmt.Sprintf("https://mirror-%d.%s/%s/netwright-linux-%s", i, strings.Repeat("h", 200), strings.Repeat("p", 120), arch))
		}
	}
	for name, form := range map[string]func() (string, error){"shell": u.Shell, "cloud-config": u.CloudConfig} {
		text, err := form()
		if err != nil {
			t.Fatalf("%s: form returns %v", name, err)
		}
		t.Logf("%s: %d of %d bytes", name, len(text), MaxSize)
	}
	u.AgentFile += strings.Repeat("# a long comment\n", 500)
	if _, err := u.Shell(); err == nil || !strings.Contains(err.Error(), "clouds take 16384") {
		t.Errorf("what no cloud takes: %v", err)
	}
}

// Whatever a setting has, it is one word of the shell, and no part of it is run.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("'\"\\$`!;&|<>(){}*?[]#~ \n\tab="))).Draw(t, "text")
		out, err := exec.Command("/bin/sh", "-euc", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Fatalf("%q became %q (%v)", s, out, err)
		}
	})
}

// The agent's file is written unchanged, whatever its comments have, and no part of it is run.
func TestAgentFileIsNotRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u := example()
		u.AgentFile = "# " + rapid.StringMatching(`[ -~]*`).Draw(rt, "comment") + "\nstore: /srv # '\"$(exit 9)`exit 9`\n"
		text, err := u.Shell()
		if err != nil {
			rt.Fatal(err)
		}
		head, _, found := strings.Cut(text, "\numask ")
		out, err := exec.Command("/bin/sh", "-c", head+"\nprintf '%s\\n' \"$agent_yaml\"").CombinedOutput()
		if err != nil || !found || string(out) != u.AgentFile {
			rt.Fatalf("%q became %q (%v)", u.AgentFile, out, err)
		}
	})
}

// Both forms have the same script.
func TestCloudConfig(t *testing.T) {
	text, err := example().CloudConfig()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		WriteFiles []struct{ Path, Permissions, Content string } `yaml:"write_files"`
		Runcmd     [][]string
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want, err := example().Shell()
	if err != nil || len(doc.WriteFiles) != 1 || doc.WriteFiles[0].Content != want {
		t.Errorf("the files are %+v (%v), want\n%s", doc.WriteFiles, err, want)
	}
	if first, _, _ := strings.Cut(text, "\n"); first != "#cloud-config" || len(doc.Runcmd) != 1 || doc.Runcmd[0][0] != doc.WriteFiles[0].Path || doc.WriteFiles[0].Permissions != "0755" {
		t.Errorf("%s runs %q", first, doc.Runcmd)
	}
}

// The shells of all distributions read the script, and a linter finds no fault.
func TestScriptIsClean(t *testing.T) {
	text, err := example().Shell()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "user-data")
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	needs.Tool(t, "shellcheck", "dash")
	for _, command := range [][]string{{"dash", "-n", path}, {"bash", "--posix", "-n", path}, {"shellcheck", "--shell=sh", path}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", command, err, out)
		}
	}
}

// A setting that could not work on the machine is refused when the user-data is made.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*UserData){
		"no sha256 of the agent":                                           func(u *UserData) { u.SHA256 = nil },
		"expected one of the architectures":                                func(u *UserData) { u.SHA256["s390x"] = digest },
		"expected 64 lower-case hex digits":                                func(u *UserData) { u.SHA256["amd64"] = strings.ToUpper(digest) },
		"no mirror has the agent for arm64":                                func(u *UserData) { u.SHA256["arm64"] = digest },
		"mirror https://a/b: it holds a user or a query: expected":         func(u *UserData) { u.Mirrors["amd64"] = []string{"https://joe:secret@a/b"} },
		"mirror https://a/c: it holds a user or a query: expected":         func(u *UserData) { u.Mirrors["amd64"] = []string{"https://a/c?sig=secret"} },
		"the URL of a mirror does not parse: expected":                     func(u *UserData) { u.Mirrors["amd64"] = []string{"https://joe:secret@a b/c"} },
		`mirror "ftp://a/b"`:                                               func(u *UserData) { u.Mirrors["amd64"] = []string{"ftp://a/b"} },
		`mirror "https://a/b c"`:                                           func(u *UserData) { u.Mirrors["amd64"] = []string{"https://a/b c"} },
		"agent.yaml:2: 'é'":                                                func(u *UserData) { u.AgentFile = "store: /srv\n# é\n" },
		"no state store is named":                                          func(u *UserData) { u.AgentFile = "" },
		"no field says which configuration of https://a/b the node trusts": func(u *UserData) { u.AgentFile = "store: https://a/b\n" },
		"agent.yaml:1:1":                                                   func(u *UserData) { u.AgentFile = "stoer: /srv\n" },
	} {
		u := example()
		change(&u)
		_, err := u.Shell()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestRelease(t *testing.T) {
	urls := []string{"https://a/v1/netwright-linux-{arch}", "http://b/netwright-linux-{arch}"}
	other := strings.Repeat("1", 64)
	sums, err := Sums("SHA256SUMS", []byte(digest+"  netwright-linux-amd64\n"+other+" *./netwright-linux-arm64\n"+other+"  else\n"), urls)
	if err != nil || sums["amd64"] != digest || sums["arm64"] != other || len(sums) != 2 {
		t.Errorf("Sums returns %v (%v)", sums, err)
	}
	if _, err := Sums("SHA256SUMS", []byte(digest+"  else\n"), urls); err == nil || !strings.Contains(err.Error(), "names no file that a mirror has") {
		t.Errorf("another release's: %v", err)
	}
	if _, err := Sums("SHA256SUMS", []byte(digest+"  netwright-linux-amd64\n"+other+"  old/netwright-linux-amd64\n"), urls); err == nil || !strings.Contains(err.Error(), "two sums") {
		t.Errorf("of two releases: %v", err)
	}
	mirrors, err := MirrorsOf(urls, Architectures)
	if err != nil || fmt.Sprint(mirrors["arm64"]) != "[https://a/v1/netwright-linux-arm64 http://b/netwright-linux-arm64]" {
		t.Errorf("MirrorsOf returns %v (%v)", mirrors, err)
	}
	if _, err := MirrorsOf([]string{"https://a/netwright"}, Architectures); err == nil || !strings.Contains(err.Error(), "write {arch} into the URL") {
		t.Errorf("one program for all: %v", err)
	}
	if _, err := MirrorsOf([]string{"https://joe:secret@a/netwright"}, Architectures); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password in a URL: %v", err)
	}
}
