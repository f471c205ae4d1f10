package vm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/node"
)

// uplinkMAC is of the machine's one card, where nothing else is asked for.
const uplinkMAC = "52:54:00:12:34:56"

// machine is a VM while it runs.
type machine struct {
	Options
	dir  string
	disk Disk

	console, results []byte
	begun            []time.Duration // when each script began, after the power was switched on

	cuts *cuts // nil: the power is not cut
}

func newMachine(t testing.TB, o Options) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), Options: o}
	if o.Cloud != nil {
		m.disk = o.Cloud.Disk
	} else if o.Policy != "" {
		m.disk = enforcing(t, o.Policy)
	} else {
		m.disk = Image(t)
	}
	return m
}

// layer is the machine's own root disk, over the image.
func (m *machine) layer() string { return cmp.Or(m.Layer, filepath.Join(m.dir, "root.qcow2")) }

// tail is the end of what the console showed.
func (m *machine) tail() []byte { return m.console[max(0, len(m.console)-4000):] }

// run switches the machine on until it switches itself off, or until its power is cut.
func (m *machine) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hang, fmt.Errorf("not off after %s", hang))
	defer cancel()
	if err := m.disks(ctx); err != nil {
		return err
	}
	args, err := m.command()
	if err != nil {
		return err
	}
	// A reboot ends qemu, which is started anew: the firmware of an emulated machine has hung in a
	// reset.
	for off := false; !off && err == nil; {
		off, err = m.power(ctx, args)
	}
	return err
}

// power has the machine on until qemu ends, and says whether it stays off.
func (m *machine) power(ctx context.Context, args []string) (off bool, err error) {
	start := time.Now()
	cmd := exec.Command(args[0], append(args[1:], "-rtc", "base="+start.Add(m.Ahead).UTC().Format("2006-01-02T15:04:05"))...)
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &complaints, &complaints
	qemu, err := child.Start(cmd)
	if err != nil {
		return true, fmt.Errorf("starting qemu: %w", err)
	}
	defer qemu.Kill()
	for {
		select {
		case <-qemu.Ended:
			m.read(start)
			if err := qemu.Err(); err != nil {
				return true, fmt.Errorf("qemu: %w: %s", err, complaints.Bytes())
			}
			return m.off(), nil
		case <-ctx.Done():
			m.read(start)
			return true, fmt.Errorf("waiting for the VM: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
		if m.read(start); bytes.Contains(m.console, []byte("Kernel panic - not syncing")) {
			return true, fmt.Errorf("the kernel panicked")
		}
		if m.off() {
			return true, nil // how it goes down, nobody asked
		}
		if m.cuts == nil {
			continue
		}
		if len(m.begun) > 0 {
			return true, nil
		}
		stood, err := m.cuts.look(ctx, qemu.PID, m.layer(), time.Since(start))
		if err != nil {
			return true, err
		}
		start = start.Add(stood)
	}
}

// off says that the machine has done all that it was to do.
func (m *machine) off() bool { return bytes.HasSuffix(m.results, []byte(switchedOff)) }

// read takes what the machine has said since it was switched on.
func (m *machine) read(start time.Time) {
	m.console, _ = os.ReadFile(filepath.Join(m.dir, "console"))
	m.results, _ = os.ReadFile(filepath.Join(m.dir, "results"))
	for len(m.begun) < bytes.Count(m.results, []byte("\x1ebegin ")) {
		m.begun = append(m.begun, time.Since(start))
	}
}

// command is what runs the machine.
func (m *machine) command() ([]string, error) {
	network := "lab.address=10.0.2.15/24 lab.gateway=10.0.2.2"
	netdev := "user,id=uplink,restrict=on"
	var enter []string
	if m.Fabric != nil {
		tap, err := m.Fabric.Tap()
		if err != nil {
			return nil, err
		}
		netdev = "tap,id=uplink,script=no,downscript=no,ifname=" + tap
		network = "lab.address=" + m.Address + "/24 lab.gateway=" + node.Gateway4 +
			" lab.address=" + node.Address6(m.Address) + "/64 lab.gateway=" + node.Gateway6
		enter = []string{"nsenter", "--net=" + m.Fabric.Netns(), "--"}
	}
	var more []string
	if m.Vendor != "" {
		more = append(more, "-smbios", "type=1,manufacturer="+m.Vendor+",product="+m.Product)
	}
	if m.Policy != "" {
		network += " security=selinux selinux=1 enforcing=1"
	}
	if m.disk.Kernel != "" {
		more = append(more, "-kernel", m.disk.Kernel, "-initrd", m.disk.Initrd, "-append",
			"root=/dev/vda rootfstype=ext4 rw console=ttyS0 quiet mitigations=off no_timer_check net.ifnames=0 lab.network "+network)
	}
	// One processor: two that are emulated by threads of a busy machine lose each other's
	// interrupts at times, and the kernel waits for ever ("soft lockup", one boot in some hundred).
	// It costs no more in all, and a boot that has this machine to itself a quarter more of time.
	const processors = "1"
	// Only where the power is cut it matters what the disk is told to keep: to keep it costs time.
	cache := "unsafe"
	if m.cuts != nil {
		cache = "writeback"
	}
	args := slices.Concat(enter, []string{"qemu-system-x86_64", "-machine", "q35,accel=" + cmp.Or(os.Getenv("NETWRIGHT_VM_ACCEL"), "tcg"), "-m", "1024", "-smp", processors,
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-chardev", "file,append=on,id=console,path=" + filepath.Join(m.dir, "console"), "-serial", "chardev:console",
		"-chardev", "file,append=on,id=results,path=" + filepath.Join(m.dir, "results"), "-serial", "chardev:results",
		"-drive", "file=" + m.layer() + ",if=virtio,format=qcow2,cache=" + cache,
		"-drive", "file=" + filepath.Join(m.dir, "payload.img") + ",if=virtio,format=raw,readonly=on"}, more)
	if m.Cloud != nil {
		args = append(args, "-drive", "file="+filepath.Join(m.dir, "seed.iso")+",if=virtio,format=raw,readonly=on")
	}
	return append(args, "-netdev", netdev, "-device", "virtio-net-pci,netdev=uplink,romfile=,mac="+cmp.Or(m.MAC, uplinkMAC), "-device", "virtio-rng-pci"), nil
}
