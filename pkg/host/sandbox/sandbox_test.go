package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/needs"
)

const mark = "/etc/netwright-sandbox-test"

// TestInsideSandbox is the other half of TestSandbox: it runs in the sandbox.
func TestInsideSandbox(t *testing.T) {
	if os.Getenv(Env) == "" {
		t.Skip("runs only as the child of TestSandbox")
	}
	if err := Enter(); err != nil {
		t.Fatal(err)
	}
	if name, err := os.Hostname(); err != nil || name != "box-1" {
		t.Errorf("hostname = %q, %v", name, err)
	}
	if err := os.WriteFile(mark, []byte("x"), 0o600); err != nil {
		t.Errorf("the sandbox's root cannot be written to: %v", err)
	}
	if err := os.WriteFile("/proc/sys/kernel/hostname", []byte("no"), 0); !errors.Is(err, unix.EROFS) {
		t.Errorf("write to kernel.hostname: %v; want a read-only file system", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Errorf("write to net.ipv4.ip_forward: %v", err)
	}
	disk := os.Getenv("DISK")
	seen, err := os.ReadFile(disk + "/file")
	if err != nil || string(seen) != "on a disk" {
		t.Errorf("file of a mounted disk: %q, %v", seen, err)
	}
	if err := os.WriteFile(disk+"/file", []byte("by the sandbox"), 0o600); err != nil {
		t.Errorf("a mounted disk cannot be written to: %v", err)
	}
	kept, err := os.ReadFile(os.Getenv("KEPT"))
	if err != nil || string(kept) != "kept" {
		t.Errorf("kept file: %q, %v", kept, err)
	}
	if names, _ := filepath.Glob("/run/*"); len(names) > 0 {
		t.Errorf("the host's /run is visible: %v", names)
	}
	if pids, _ := filepath.Glob("/proc/[0-9]*"); len(pids) != 1 {
		t.Errorf("processes = %v; want only ourselves", pids)
	}
	route, err := os.ReadFile("/proc/net/route")
	if err != nil || !strings.Contains(string(route), "eth0\t00000000\t01024D0A") {
		t.Errorf("no default route by 10.77.2.1 on eth0:\n%s%v", route, err)
	}
}

// A write in a sandbox reaches no disk of the host, also if the disk has an unusual name. The lines
// that keep it: root.go, overlayOver; root.go, diskMounts; pkg/host/internal/sys/mounts.go, Mounts.
func TestSandbox(t *testing.T) {
	needs.Root(t)
	if os.Getenv(Env) != "" {
		t.Skip("this is the sandbox")
	}
	forward, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEPT", kept)
	base, err := os.MkdirTemp("/var/tmp", "sandbox") // /tmp is the sandbox's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(base)
	disk := base + `/10.0.0.1:3260-iqn.2026-01,a \b-lun-0`
	t.Setenv("DISK", disk)
	// The test compares the mounts of this thread, since other tests change those of the machine.
	var mounts, after string
	var out bytes.Buffer
	var code int
	err = sys.OnThread(func() error {
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err != nil {
			return err
		}
		if err := mountDisk(disk); err != nil {
			return err
		}
		mounts = mountinfo()
		box := Config{Hostname: "box-1", ReadOnly: []string{filepath.Dir(kept)}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.2.11/24")}}
		code, err = Run(t.Context(), box, []string{"-test.run=^TestInsideSandbox$", "-test.v"}, nil, &out, &out)
		after = mountinfo()
		if seen, err := os.ReadFile(disk + "/file"); err != nil || string(seen) != "on a disk" {
			t.Errorf("a write in the sandbox reached a disk of the host: %q, %v", seen, err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.Contains(out.String(), "--- PASS: TestInsideSandbox") {
		t.Fatalf("exit %d:\n%s", code, out.String())
	}
	if _, err := os.Lstat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a write in the sandbox reached the host: %v", err)
	}
	if after, _ := os.ReadFile("/proc/sys/net/ipv4/ip_forward"); !bytes.Equal(after, forward) {
		t.Errorf("net.ipv4.ip_forward of the host changed from %q to %q", forward, after)
	}
	if after != mounts || mounts == "" {
		t.Errorf("mounts of the host changed:\n%s\n%s", mounts, after)
	}
	if ip, err := exec.LookPath("ip"); err == nil {
		links, err := exec.Command(ip, "-o", "link").CombinedOutput()
		if err != nil || strings.Contains(string(links), "outside") {
			t.Errorf("a link of the sandbox is on the host: %v\n%s", err, links)
		}
	}
}

// mountDisk mounts an overlay with one file, which counts as a disk. Its directory is gone with the
// mount namespace.
func mountDisk(disk string) error {
	base := filepath.Dir(disk)
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{disk, base + "/lower", base + "/upper", base + "/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	err := unix.Mount("overlay", disk, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", base))
	if err != nil {
		return err
	}
	return os.WriteFile(disk+"/file", []byte("on a disk"), 0o600)
}

// An error inside the namespaces is reported outside. The lines that keep it: sandbox.go, Enter;
// sandbox.go, runUntilEntered.
func TestWhatFailsInsideIsSaidOutside(t *testing.T) {
	needs.Root(t)
	var out bytes.Buffer
	box := Config{Hostname: strings.Repeat("x", 100)}
	code, err := Run(t.Context(), box, []string{"-test.run=^TestInsideSandbox$"}, nil, &out, &out)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "host name") {
		t.Errorf("exit %d, %v:\n%s", code, err, out.String())
	}
}

// mountinfo lists the mounts that the calling thread sees.
func mountinfo() string {
	data, _ := os.ReadFile("/proc/thread-self/mountinfo")
	return string(data)
}
