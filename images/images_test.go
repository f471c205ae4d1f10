// Package images tests that the files beside it are what their tools say. test/e2e boots what they
// make.
package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

func TestScriptsAreClean(t *testing.T) {
	needs.Tool(t, "shellcheck")
	if out, err := exec.Command("shellcheck", "build", "clean", "packer/provision").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// clean removes what must not be in an image, and keeps what is baked into it. The root of the test
// is as small as possible.
func TestClean(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"etc/machine-id", "etc/ssh/ssh_host_rsa_key", "etc/ssh/sshd_config", "etc/hostname", "var/log/dpkg.log", "var/log/journal/0/system.journal",
		"var/lib/cloud/instance/user-data.txt", "var/lib/netwright/journal", "root/.bash_history", "home/admin/.ssh/authorized_keys", "tmp/x", "run/x", "usr/bin/true"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("./clean", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command("find", root, "-type", "f", "-printf", "%P %s\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"etc/machine-id 0": true, "etc/ssh/sshd_config 1": true, "var/lib/netwright/journal 1": true, "usr/bin/true 1": true}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if !want[line] {
			t.Errorf("left is %s", line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("gone is %s", line)
	}
}

func TestTemplatesAreValid(t *testing.T) {
	if os.Getenv("NETWRIGHT_IMAGES") == "" {
		t.Skip("needs Packer: make test-images")
	}
	needs.Tool(t, "packer")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"validate", "-var", "deb=" + file, "packer/ebs.pkr.hcl"},
		{"validate", "-var", "deb=" + file, "-var", "image=" + file, "-var", "checksum=none", "packer/qemu.pkr.hcl"},
	} {
		cmd := exec.Command("packer", args...)
		cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "PACKER_CONFIG_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("packer %q: %v: %s", args, err, out)
		}
	}
}
