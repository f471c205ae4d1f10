package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/node"
)

// inNode is set for this test program when it runs inside of a node.
const inNode = "NETWRIGHT_TEST_IN_NODE"

// TestMain lets this test program act as the copy of a checkpoint, which is asked whether it could
// undo.
func TestMain(m *testing.M) {
	if !slices.Equal(os.Args[1:], []string{"undo", "--check"}) {
		os.Exit(m.Run())
	}
	files, err := host.OpenFiles(host.Options{})
	if err == nil {
		err = CheckUndo(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	unitsBefore = `
for u in stopped enabled masked-on unmasked masked-off dropped; do printf '[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/nw-$u.service; done
mv /etc/systemd/system/nw-*masked-*.service /etc/systemd/system/nw-unmasked.service /usr/lib/systemd/system/
printf '[Service]\nExecStart=sleep 1000\n' >/usr/lib/systemd/system/nw-static.service
cp /usr/lib/systemd/system/nw-static.service /usr/lib/systemd/system/nw-hand.service
cp /etc/systemd/system/nw-stopped.service /usr/lib/systemd/system/nw-beside.service
(cat /etc/systemd/system/nw-stopped.service; echo Also=nw-beside.service) >/usr/lib/systemd/system/nw-also.service
mkdir -p /etc/systemd/system/basic.target.wants /opt; mv /etc/systemd/system/nw-dropped.service /opt/nw-linked.service
cp /opt/nw-linked.service /etc/systemd/system/nw-dropped.service
ln -s /usr/lib/systemd/system/nw-also.service /usr/lib/systemd/system/nw-hand.service /etc/systemd/system/basic.target.wants
systemctl daemon-reload; systemctl link /opt/nw-linked.service
systemctl enable nw-also; systemctl disable nw-beside; systemctl start nw-also nw-hand
systemctl enable --now nw-stopped nw-masked-on nw-dropped; systemctl start nw-static; systemctl mask nw-unmasked`
	unitsChange = `
systemctl disable --now nw-stopped; systemctl enable --now nw-enabled; systemctl mask --now nw-masked-on nw-masked-off nw-static; systemctl unmask nw-unmasked
systemctl disable --now nw-also nw-hand; systemctl disable nw-linked; systemctl enable nw-beside
printf '[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/nw-made.service
mkdir -p /etc/systemd/system/nw-dropped.service.d; printf '[Service]\nNice=5\n' >/etc/systemd/system/nw-dropped.service.d/x.conf
systemctl daemon-reload; systemctl enable --now nw-made; systemctl restart nw-dropped`
	unitsLook = `
for u in stopped enabled masked-on unmasked masked-off static made dropped also beside hand linked; do
systemctl show -p ActiveState,UnitFileState,LoadState,Nice nw-$u; ls -l /etc/systemd/system /etc/systemd/system/multi-user.target.wants /etc/systemd/system/basic.target.wants | grep -o " nw-$u.*" || true; done; ls /etc/systemd/system/*.d/x.conf || true`
)

// After an undo the units are as before the change: masked, enabled and running or not, with their
// drop-ins, with the links that people made, and without links for the units of their Also=. The
// timer exists as long as the change is not confirmed. The lines that keep it:
// pkg/checkpoint/undo/restore_units.go, Units; pkg/tasks/unit_links.go, Restore; arm.go, arm;
// disarm.go, dismantle (timer).
func TestUndoOfUnits(t *testing.T) {
	if os.Getenv(inNode) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11", Copies: map[string]string{"/checkpoint.test": self}})
		if out := n.Run(t.Context(), "env", inNode+"=1", "/checkpoint.test", "-test.run=^TestUndoOfUnits$", "-test.v", "-test.timeout=10m"); out.Code != 0 {
			t.Errorf("exit %d: %s\n%s", out.Code, out.Stdout, out.Stderr)
		}
		return
	}
	h, err := host.Open(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	netns.Shell(t, unitsBefore)
	was := netns.Shell(t, unitsLook)
	keys := []graph.Key{tasks.FileKey("/etc/systemd/system/nw-made.service"), tasks.FileKey("/etc/systemd/system/nw-dropped.service.d"),
		tasks.FileKey("/etc/systemd/system/nw-dropped.service.d/x.conf"), tasks.Restart("nw-dropped.service")}
	for _, unit := range []string{"stopped", "enabled", "masked-on", "unmasked", "masked-off", "static", "made", "also", "hand", "linked"} {
		keys = append(keys, graph.MakeKey(tasks.KindUnit, "nw-"+unit+".service"))
	}
	settings := Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Minute}
	for _, booted := range []bool{false, true} {
		c, err := Take(t.Context(), h, Change{Keys: keys}, settings)
		if err == nil {
			err = c.Arm(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		netns.Shell(t, "systemctl is-active "+TimerName+".timer; "+unitsChange)
		if booted {
			c.journal.Boot = "another"
			if err := undo.Save(t.Context(), h, JournalFile, c.journal); err != nil {
				t.Fatal(err)
			}
			netns.Shell(t, "systemctl stop nw-made") // its file was not there when the boot began
			if v, err := Undo(t.Context(), h, settings); v == nil || err != nil {
				t.Fatalf("Undo: %v, %v; want a verdict", v, err)
			}
			c.closeMaker()                                 // not before, or systemd would undo, too
			netns.Shell(t, "systemctl restart nw-dropped") // the boot starts it
		} else {
			var undone *UndoneError
			if err := c.Finish(t.Context(), errors.New("too long")); !errors.As(err, &undone) {
				t.Fatalf("a change that took too long: %v; want an UndoneError", err)
			}
		}
		netns.Shell(t, "while systemctl list-jobs --no-legend | grep -q nw-; do sleep 0.05; done")
		if diff := cmp.Diff(strings.Split(was, "\n"), strings.Split(netns.Shell(t, unitsLook), "\n")); diff != "" {
			t.Errorf("after a boot: %v; units are not as before (-before +after):\n%s", booted, diff)
		}
		netns.Shell(t, "! systemctl is-active "+TimerName+".timer && ! test -e "+JournalFile)
	}
	undoOfReaders(t, h)
}

// A change restarted a unit, and the unit still reads the new settings when they are undone.
// containerd does so, and makes the directory of its confs. What keeps it:
// pkg/checkpoint/undo/restore_units.go, awaitReaders.
func undoOfReaders(t *testing.T, h *host.Host) {
	netns.Shell(t, `
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c "trap : TERM; dir=$$(cat /etc/nw-settings); sleep 1; mkdir -p -m 700 $$dir"\n' >/etc/systemd/system/nw-reader.service
echo /etc/nw-old.d >/etc/nw-settings; systemctl daemon-reload; systemctl start nw-reader`)
	keys := []graph.Key{tasks.FileKey("/etc/nw-settings"), tasks.FileKey("/etc/nw-new.d"), tasks.Restart("nw-reader.service")}
	c, err := Take(t.Context(), h, Change{Keys: keys}, Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Minute})
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, `mkdir /etc/nw-new.d; echo /etc/nw-new.d >/etc/nw-settings; systemctl restart --no-block nw-reader
until systemctl show -p ActiveState nw-reader | grep -q activating; do sleep 0.02; done`)
	if v, err := Undo(t.Context(), h, Settings{Window: time.Minute}); v == nil || err != nil {
		t.Fatalf("Undo: %v, %v; want a verdict", v, err)
	}
	c.closeMaker()
	netns.Shell(t, `while systemctl list-jobs --no-legend | grep -q nw-; do sleep 0.05; done; test -d /etc/nw-old.d
ls -ld /etc/nw-new.d 2>/dev/null && exit 1; systemctl stop nw-reader`)
}
