package e2e

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/vm"
)

// untilReady waits for the agent. After an interrupted install the agent may start later than the
// boot's other units.
const untilReady = "until systemctl -q is-active netwright-agent; do sleep 1; done\n"

// whole checks that every file of ours is complete: programs run, and no file is empty.
const whole = `
netwright version
for plugin in bridge host-local loopback; do CNI_COMMAND=VERSION /usr/lib/cni/$plugin </dev/null | jq -e .cniVersion >/dev/null; done
empty=$(find /etc/netwright /etc/cni /etc/systemd/system /etc/sysctl.d/99-netwright.conf /etc/modules-load.d /var/lib/netwright /usr/lib/cni -type f -empty)
[ -z "$empty" ] || { echo "empty: $empty"; exit 1; }
for unit in agent recover undo; do systemctl is-enabled netwright-$unit.service >/dev/null; done
until [ ! -e /etc/systemd/system/netwright-bootstrap.service ]; do sleep 1; done
test ! -e /var/lib/netwright/bootstrap
`

// lostNotes says whether cloud-init itself cannot start on a disk. cloud-init does not sync its
// notes. If its note of the host's name is empty, version 22.4 fails before it reads the user-data,
// at this boot and at each later one (cc_set_hostname.py does not expect an empty file).
func lostNotes(t *testing.T, layer, offset string) bool {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root.raw") // a separate file: e2fsck forgets an offset after it has replayed the journal
	if out, err := exec.Command("qemu-img", "convert", "-O", "raw", "--image-opts", "driver=raw,offset="+offset+",file.driver=qcow2,file.file.filename="+layer,
		root).CombinedOutput(); err != nil {
		t.Fatalf("qemu-img: %v: %s", err, out)
	}
	defer os.Remove(root)
	if out, err := exec.Command("e2fsck", "-fy", root).CombinedOutput(); err != nil && !strings.Contains(string(out), "FILE SYSTEM WAS MODIFIED") {
		t.Fatalf("e2fsck: %v: %s", err, out)
	}
	note := filepath.Join(t.TempDir(), "set-hostname")
	if out, err := exec.Command("debugfs", "-R", "dump /var/lib/cloud/data/set-hostname "+note, root).CombinedOutput(); err != nil {
		t.Fatalf("debugfs: %v: %s", err, out)
	}
	info, err := os.Stat(note)
	return err == nil && info.Size() == 0
}

// powerCuts cuts the power at random moments of a first boot. At its second boot the machine
// becomes a node all the same. NETWRIGHT_CUTS is the number of moments (default 10), and
// NETWRIGHT_SEED draws them. The seed does not repeat the states, since no two boots take the same
// time.
func powerCuts(t *testing.T, w way, disk vm.Disk) {
	seed, count := setting(t, "NETWRIGHT_SEED", int(time.Now().Unix())), setting(t, "NETWRIGHT_CUTS", 10)
	first := w.outside(t, disk, freshStore(t, freshSpec))
	cut := vm.Cut(t, first.Options, count, rand.New(rand.NewPCG(uint64(seed), 0)))
	t.Logf("NETWRIGHT_SEED=%d", seed)
	first.Every = untilReady + freshCheck + whole
	for _, lost := range cut {
		t.Run("after "+lost.After.Round(time.Second/10).String(), func(t *testing.T) {
			defer os.Remove(lost.Layer)
			if lostNotes(t, lost.Layer, w.root) {
				t.Skip("cloud-init lost its own notes, before it came to the user-data: docs/bootstrap.md says what to do there")
			}
			first.Layer = lost.Layer
			up(t, "the boot after", vm.Run(t, first.Options)[0])
		})
	}
}

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}

// said returns the time of an event of a boot, as the check printed it. The time begins at the
// kernel's start.
func said(t *testing.T, boot vm.Boot, name string) time.Duration {
	t.Helper()
	_, after, _ := strings.Cut(boot.Output, "\n"+name+" ")
	line, _, _ := strings.Cut(after, "\n")
	at, err := time.ParseDuration(strings.TrimSpace(line) + "us")
	if err != nil {
		t.Fatalf("the check did not say %s:\n%s", name, boot.Output)
	}
	return at
}

// up logs how long a boot took, and checks that every unit came up.
func up(t *testing.T, what string, boot vm.Boot) {
	t.Helper()
	ready, kernel := said(t, boot, "ready"), boot.Begun-boot.Uptime
	t.Logf("%s: the kernel started %s after power on; the agent was ready %s after that, %s after power on; all was up after %s", what,
		kernel.Round(time.Second/10), ready.Round(time.Second/10), (kernel + ready).Round(time.Second/10), boot.Begun.Round(time.Second/10))
	if boot.State != "running" {
		t.Errorf("systemd is %s, want running:\n%s", boot.State, boot.Output)
	}
}
