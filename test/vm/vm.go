// Package vm boots virtual machines for tests: for what a node of package node cannot show, since it shares this machine's kernel.
// Modules that load, kernel.* sysctls, cgroup v2, real reboots, power cuts. Machines are emulated, so that they run everywhere: a boot takes
// ten seconds, and few tests should need one. NETWRIGHT_VM_ACCEL=kvm is for where KVM works (there are machines where it is there and hangs).
package vm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/node"
)

// Options is what a VM does.
type Options struct {
	// Boots are scripts for sh -eu, run as root once systemd is done: the first after the first boot, then the machine reboots for the
	// next. The machine is switched off after the last, or after one that fails. A script that ends the machine itself
	// (echo b >/proc/sysrq-trigger is a power cut: what was not synced is lost) is followed by the next, too.
	Boots []string
	// Payload is put on a disk that is mounted read-only at /payload, where scripts run: name → file or directory of this machine.
	Payload map[string]string
	// Fabric and Address connect eth0 to nodes: the IPv4 address within 10.77.0.0/24, IPv6 likewise as nodes have it. Without, eth0 is
	// 10.0.2.15, its gateway 10.0.2.2 answers, and nothing lies beyond.
	Fabric  *node.Fabric
	Address string
	// Vendor and Product are what the machine's firmware says of it (SMBIOS, type 1); "": what qemu says.
	Vendor, Product string
	// Ahead is how far the machine's hardware clock is ahead of this one's; negative: behind.
	Ahead time.Duration
}

// Boot is how one boot went.
type Boot struct {
	State  string // of systemd when the script began: "running", "degraded"
	Output string // all that the script printed
	Code   int    // its exit status; -1 if it ended the machine
}

const hang = 15 * time.Minute // far above what a few boots take on a busy machine: it only ends what hangs

// Run boots a VM, runs the scripts and returns how each boot went. A script that fails is shown and ends the test.
func Run(t testing.TB, o Options) []Boot {
	t.Helper()
	disk := Image(t)
	dir := t.TempDir()
	start := time.Now()
	console, results, err := run(t.Context(), dir, disk, o)
	if err != nil {
		t.Fatalf("running a VM: %v\nresults:\n%s\nconsole:\n%s", err, results, console[max(0, len(console)-4000):])
	}
	boots := parse(string(results))
	t.Logf("%d boots in %s", len(boots), time.Since(start).Round(100*time.Millisecond))
	for i, boot := range boots {
		if boot.Code > 0 {
			t.Fatalf("boot %d (%s): the script ended with status %d:\n%s", i+1, boot.State, boot.Code, boot.Output)
		}
	}
	if len(boots) != len(o.Boots) {
		t.Fatalf("the VM booted %d times, want %d; console:\n%s", len(boots), len(o.Boots), console[max(0, len(console)-4000):])
	}
	return boots
}

func run(ctx context.Context, dir string, disk Disk, o Options) (console, results []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hang, fmt.Errorf("not off after %s", hang))
	defer cancel()
	if err := disks(ctx, dir, disk, o); err != nil {
		return nil, nil, err
	}
	args, err := machine(dir, disk, o)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(args[0], args[1:]...)
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &complaints, &complaints
	qemu, err := child.Start(cmd)
	if err != nil {
		return nil, nil, fmt.Errorf("starting qemu: %w", err)
	}
	defer qemu.Kill()
	read := func() {
		console, _ = os.ReadFile(filepath.Join(dir, "console"))
		results, _ = os.ReadFile(filepath.Join(dir, "results"))
	}
	for {
		select {
		case <-qemu.Ended:
			read()
			if err := qemu.Err(); err != nil {
				return console, results, fmt.Errorf("qemu: %w: %s", err, complaints.Bytes())
			}
			return console, results, nil
		case <-ctx.Done():
			read()
			return console, results, fmt.Errorf("waiting for the VM: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
			if read(); bytes.Contains(console, []byte("Kernel panic - not syncing")) {
				return console, results, fmt.Errorf("the kernel panicked")
			}
		}
	}
}

// disks makes the machine's own root disk, a layer over the image, and the payload.
func disks(ctx context.Context, dir string, disk Disk, o Options) error {
	out, err := exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "-b", disk.Root, "-F", "raw",
		filepath.Join(dir, "root.qcow2")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("making the root disk: %w: %s", err, out)
	}
	payload := filepath.Join(dir, "payload")
	if err := os.Mkdir(payload, 0o755); err != nil {
		return fmt.Errorf("making the payload: %w", err)
	}
	for i, script := range o.Boots {
		if err := os.WriteFile(filepath.Join(payload, "boot-"+strconv.Itoa(i+1)), []byte(script), 0o644); err != nil {
			return fmt.Errorf("writing a script: %w", err)
		}
	}
	size := int64(32 << 20)
	for name, from := range o.Payload {
		if out, err := exec.CommandContext(ctx, "cp", "-RL", from, filepath.Join(payload, name)).CombinedOutput(); err != nil {
			return fmt.Errorf("copying the payload: %w: %s", err, out)
		}
	}
	err = filepath.WalkDir(payload, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size() + 8192
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("measuring the payload: %w", err)
	}
	return makeDisk(ctx, filepath.Join(dir, "payload.img"), payload, fmt.Sprintf("%dk", size/1024*5/4))
}

// machine is the command that runs the VM.
func machine(dir string, disk Disk, o Options) ([]string, error) {
	network := "lab.address=10.0.2.15/24 lab.gateway=10.0.2.2"
	netdev := "user,id=uplink,restrict=on"
	var enter []string
	if o.Fabric != nil {
		tap, err := o.Fabric.Tap()
		if err != nil {
			return nil, err
		}
		netdev = "tap,id=uplink,script=no,downscript=no,ifname=" + tap
		network = "lab.address=" + o.Address + "/24 lab.gateway=" + node.Gateway4 +
			" lab.address=" + node.Address6(o.Address) + "/64 lab.gateway=" + node.Gateway6
		enter = []string{"nsenter", "--net=" + o.Fabric.Netns(), "--"}
	}
	var firmware []string
	if o.Vendor != "" {
		firmware = []string{"-smbios", "type=1,manufacturer=" + o.Vendor + ",product=" + o.Product}
	}
	return slices.Concat(enter, []string{"qemu-system-x86_64", "-machine", "q35,accel=" + cmp.Or(os.Getenv("NETWRIGHT_VM_ACCEL"), "tcg"), "-m", "1024", "-smp", "2",
		"-rtc", "base=" + time.Now().Add(o.Ahead).UTC().Format("2006-01-02T15:04:05"),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-serial", "file:" + filepath.Join(dir, "console"), "-serial", "file:" + filepath.Join(dir, "results"),
		"-kernel", disk.Kernel, "-initrd", disk.Initrd,
		"-append", "root=/dev/vda rootfstype=ext4 rw console=ttyS0 quiet mitigations=off no_timer_check net.ifnames=0 lab.network " + network,
		"-drive", "file=" + filepath.Join(dir, "root.qcow2") + ",if=virtio,format=qcow2,cache=unsafe",
		"-drive", "file=" + filepath.Join(dir, "payload.img") + ",if=virtio,format=raw,readonly=on",
		"-netdev", netdev, "-device", "virtio-net-pci,netdev=uplink,romfile=", "-device", "virtio-rng-pci"}, firmware), nil
}

// parse reads the frames that the image's runner writes: "\x1ebegin <boot> <state>", what the script printed, "\n\x1eend <boot> <status>".
func parse(results string) []Boot {
	var boots []Boot
	for _, frame := range strings.Split(results, "\x1e")[1:] {
		head, rest, _ := strings.Cut(frame, "\n")
		words := strings.Fields(head)
		switch {
		case len(words) == 3 && words[0] == "begin":
			boots = append(boots, Boot{State: words[2], Output: rest, Code: -1})
		case len(words) == 3 && words[0] == "end" && len(boots) > 0:
			boot := &boots[len(boots)-1]
			boot.Output = strings.TrimSuffix(boot.Output, "\n")
			if code, err := strconv.Atoi(words[2]); err == nil {
				boot.Code = code
			}
		}
	}
	return boots
}
