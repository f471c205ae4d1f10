package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/release"
	"github.com/netwright/netwright/test/rootfs"
	"github.com/netwright/netwright/test/vm"
)

// rootOffset is the position of the root file system on a disk of images/build, in bytes.
const rootOffset = "2097152"

// bakedDisk has images/build make a disk that contains what a node of the store's group needs.
func bakedDisk(t *testing.T) vm.Disk {
	t.Helper()
	needs.Tool(t, "sfdisk", "debugfs", "mke2fs")
	disk := filepath.Join(t.TempDir(), "disk.raw")
	out, err := exec.CommandContext(t.Context(), "../../images/build", "--root", rootfs.System(t), "--deb", release.Package(t, "deb", "v1.0.0", "amd64", agent(t)),
		"--store", freshStore(t, freshSpec).dir, "--cluster", cluster, "--node-group", "nodes", disk).CombinedOutput()
	if err != nil {
		t.Fatalf("images/build: %v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Log(lines[len(lines)-1])
	clean(t, disk)
	return vm.Disk{Root: disk}
}

// clean checks with debugfs and sfdisk that a disk has nothing that a cloned disk must not have.
func clean(t *testing.T, disk string) {
	if out, err := exec.Command("sfdisk", "--dump", disk).CombinedOutput(); err != nil || !strings.Contains(string(out), "label: gpt") ||
		!strings.Contains(string(out), "21686148-6449-6E6F-744E-656564454649") {
		t.Errorf("no GPT with a partition for GRUB: %v: %s", err, out)
	}
	dir := t.TempDir()
	for _, top := range []string{"/etc", "/root", "/home", "/var", "/tmp"} {
		out, err := exec.Command("debugfs", "-R", "rdump "+top+" "+dir, disk+"?offset="+rootOffset).CombinedOutput()
		if err != nil {
			t.Fatalf("debugfs: %v: %s", err, out)
		}
	}
	for path, want := range map[string]string{"etc/machine-id": "", "etc/modules-load.d/netwright.conf": "openvswitch", "etc/sysctl.d/99-netwright.conf": "vm.max_map_count"} {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || want == "" && len(text) > 0 || !strings.Contains(string(text), want) {
			t.Errorf("%s is %q, want %q in it: %v", path, text, want, err)
		}
	}
	for _, name := range []string{"agent", "recover", "undo"} {
		found, err := filepath.Glob(dir + "/etc/systemd/system/*.wants/netwright-" + name + ".service")
		if err != nil || len(found) != 1 {
			t.Errorf("netwright-%s.service is not enabled once: %q", name, found)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() { // systemd brings a link to its README.logs
			return err
		}
		name := strings.TrimPrefix(path, dir)
		switch base := filepath.Base(name); {
		case strings.HasPrefix(name, "/var/log/"), strings.HasPrefix(name, "/tmp/"), strings.HasPrefix(name, "/var/lib/cloud/"), base == "hostname",
			strings.HasPrefix(base, "ssh_host_"), base == "authorized_keys", base == "random-seed", base == ".bash_history", strings.HasSuffix(base, ".key"),
			base == "resolv.conf", base == "policy-rc.d":
			t.Errorf("%s is on the disk", name)
		case strings.HasPrefix(name, "/var/lib/netwright/"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, own := range []string{`"node":"` + host + `"`, `"by":"` + os.Getenv("USER") + `@`} {
				if strings.Contains(string(text), own) {
					t.Errorf("%s has what is of the machine that built it: %s", name, own)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
