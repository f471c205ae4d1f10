// Package vm boots virtual machines for tests that need what a node of package node cannot have,
// because a node shares this machine's kernel: modules that load, kernel.* sysctls, cgroup v2, real
// reboots, power cuts. The machines are emulated, so they run everywhere. But a boot takes ten to
// forty seconds, so only few tests should use them. NETWRIGHT_VM_ACCEL=kvm is for machines on which
// KVM works (on some machines KVM exists and hangs).
package vm

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// Options are the properties of a VM, and what runs in it.
type Options struct {
	// Boots are scripts for sh -eu, run as root once systemd is done: the first after the first
	// boot, then the machine reboots for the next. The machine is switched off after the last, or
	// after one that fails. A script that ends the machine itself (echo b >/proc/sysrq-trigger is a
	// power cut: what was not synced is lost) is followed by the next, too.
	Boots []string
	// Every is the script of a boot that has none in Boots; after it the machine is switched off.
	Every string
	// Payload is put on a disk that is mounted read-only at /payload, where scripts run: name →
	// file or directory of this machine.
	Payload map[string]string
	// Fabric and Address connect eth0 to nodes: the IPv4 address within 10.77.0.0/24, IPv6 likewise
	// as nodes have it. Without, eth0 is 10.0.2.15, its gateway 10.0.2.2 answers, and nothing lies
	// beyond.
	Fabric  *node.Fabric
	Address string
	// MAC is that of eth0, where several machines are on one fabric; "": qemu's for a first card.
	MAC string
	// Cloud boots another disk, which learns by cloud-init what it is. Needs a Fabric.
	Cloud *Cloud
	// Layer is a disk to go on with, of Cut; "": a fresh one. It is written to.
	Layer string
	// Vendor and Product are what the machine's firmware says of it (SMBIOS, type 1); "": what qemu
	// says.
	Vendor, Product string
	// Policy is a module of SELinux (CIL): the machine enforces its distribution's policy with it.
	// "": it has no SELinux. Not with Cloud.
	Policy string
	// Ahead is how far the machine's hardware clock is ahead of this one's; negative: behind.
	Ahead time.Duration
}

// Boot is the result of one boot.
type Boot struct {
	State  string        // of systemd when the script began: "running", "degraded"
	Output string        // all that the script printed
	Code   int           // its exit status; -1 if it ended the machine
	Begun  time.Duration // when the script began, after the power was switched on, as this machine saw it
	Uptime time.Duration // the same after the kernel started, as the kernel saw it
}

const hang = 40 * time.Minute // far above what a few boots take on a busy machine: it only ends what hangs

// Run boots a VM, runs the scripts and returns how each boot went. A script that fails is shown and
// ends the test.
func Run(t testing.TB, o Options) []Boot {
	t.Helper()
	m := newMachine(t, o)
	start := time.Now()
	if err := m.run(t.Context()); err != nil {
		t.Fatalf("running a VM: %v\nresults:\n%s\nconsole:\n%s", err, m.results, m.tail())
	}
	boots := parse(string(m.results))
	for i := range min(len(boots), len(m.begun)) {
		boots[i].Begun = m.begun[i]
	}
	t.Logf("%d boots in %s", len(boots), time.Since(start).Round(100*time.Millisecond))
	for i, boot := range boots {
		if boot.Code > 0 {
			t.Fatalf("boot %d (%s): the script ended with status %d:\n%s", i+1, boot.State, boot.Code, boot.Output)
		}
	}
	if want := max(len(o.Boots), 1); len(boots) != want {
		t.Fatalf("the VM booted %d times, want %d; console:\n%s", len(boots), want, m.tail())
	}
	return boots
}

// parse reads the frames that the image's runner writes: "\x1ebegin <boot> <state> <uptime in
// seconds>", what the script printed, "\n\x1eend <boot> <status>".
func parse(results string) []Boot {
	var boots []Boot
	for _, frame := range strings.Split(results, "\x1e")[1:] {
		head, rest, _ := strings.Cut(frame, "\n")
		words := strings.Fields(head)
		switch {
		case len(words) == 4 && words[0] == "begin":
			uptime, _ := time.ParseDuration(words[3] + "s") // the kernel's own
			boots = append(boots, Boot{State: words[2], Output: rest, Code: -1, Uptime: uptime})
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
