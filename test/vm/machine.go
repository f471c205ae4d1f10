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
	"time"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/node"
)

// uplinkMAC is of the machine's one card.
const uplinkMAC = "52:54:00:12:34:56"

// machine is a VM while it runs.
type machine struct {
	Options
	dir  string
	disk Disk

	console, results []byte
	begun            []time.Duration // when each script began, after the power was switched on
}

// tail is the end of what the console showed.
func (m *machine) tail() []byte { return m.console[max(0, len(m.console)-4000):] }

// run switches the machine on and waits until it is off.
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
	if m.Cut > 0 {
		if off, err := m.power(ctx, args, m.Cut); err != nil || off {
			return cmp.Or(err, fmt.Errorf("the machine was off before its power was cut after %s", m.Cut))
		}
	}
	_, err = m.power(ctx, args, 0)
	return err
}

// power has the machine on until it switches itself off, or until its power is cut.
func (m *machine) power(ctx context.Context, args []string, cut time.Duration) (off bool, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	var complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &complaints, &complaints
	start := time.Now()
	qemu, err := child.Start(cmd)
	if err != nil {
		return false, fmt.Errorf("starting qemu: %w", err)
	}
	defer qemu.Kill()
	var lost <-chan time.Time
	if cut > 0 {
		lost = time.After(cut)
	}
	m.begun = nil
	for {
		select {
		case <-qemu.Ended:
			m.read(start)
			if err := qemu.Err(); err != nil {
				return true, fmt.Errorf("qemu: %w: %s", err, complaints.Bytes())
			}
			return true, nil
		case <-lost:
			return false, nil
		case <-ctx.Done():
			m.read(start)
			return false, fmt.Errorf("waiting for the VM: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
			if m.read(start); bytes.Contains(m.console, []byte("Kernel panic - not syncing")) {
				return false, fmt.Errorf("the kernel panicked")
			}
		}
	}
}

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
	if m.disk.Kernel != "" {
		more = append(more, "-kernel", m.disk.Kernel, "-initrd", m.disk.Initrd, "-append",
			"root=/dev/vda rootfstype=ext4 rw console=ttyS0 quiet mitigations=off no_timer_check net.ifnames=0 lab.network "+network)
	}
	// Only where the power is cut it matters what the disk is told to keep: to keep it costs time.
	cache := "unsafe"
	if m.Cut > 0 {
		cache = "writeback"
	}
	args := slices.Concat(enter, []string{"qemu-system-x86_64", "-machine", "q35,accel=" + cmp.Or(os.Getenv("NETWRIGHT_VM_ACCEL"), "tcg"), "-m", "1024", "-smp", "2",
		"-rtc", "base=" + time.Now().Add(m.Ahead).UTC().Format("2006-01-02T15:04:05"),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-serial", "file:" + filepath.Join(m.dir, "console"), "-serial", "file:" + filepath.Join(m.dir, "results"),
		"-drive", "file=" + filepath.Join(m.dir, "root.qcow2") + ",if=virtio,format=qcow2,cache=" + cache,
		"-drive", "file=" + filepath.Join(m.dir, "payload.img") + ",if=virtio,format=raw,readonly=on"}, more)
	if m.Cloud != nil {
		args = append(args, "-drive", "file="+filepath.Join(m.dir, "seed.iso")+",if=virtio,format=raw,readonly=on")
	}
	return append(args, "-netdev", netdev, "-device", "virtio-net-pci,netdev=uplink,romfile=,mac="+uplinkMAC, "-device", "virtio-rng-pci"), nil
}
