package checkpoint

import (
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/netns"
)

// mild is a change that does not cut the node off.
const mild = `printf other >/etc/nw/content; sysctl -qw net.ipv4.ip_forward=1; mkdir -p /etc/nw/new; ip link add br9 type bridge`

// asNobody calls do with the file rights of an ordinary user, in this thread.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

// A change that awaits its confirmation stays if it is confirmed. Otherwise it is undone: when its
// time is over, when a command asks for that, or at a boot. After the undo it is made again only if
// a command asks for it. The lines that keep it: confirmation.go, Await and Confirm; finish.go,
// Finish; undo.go, Undo and endMaker; verdict.go, judge; journal.go, readJournal.
func TestAChangeAwaitsItsConfirmation(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	made := func(within time.Duration) *Journal {
		t.Helper()
		c := armed(t, h, settings())
		c.Await(Awaits{By: "ada", For: within, Set: 3})
		netns.Shell(t, mild)
		if err := c.Finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		j, err := Pending(h.Live.Files)
		if err != nil || j == nil || j.Awaits == nil || j.Awaits.By != "ada" || j.Awaits.Set != 3 || host.Uptime()-j.Awaits.Up > time.Minute {
			t.Fatalf("the journal of a change that awaits its confirmation: %+v, %v", j, err)
		}
		return j
	}
	takenBack := func(when, file, why string) {
		t.Helper()
		begun := time.Now()
		v, err := Undo(t.Context(), h, settings())
		if err != nil || v == nil || !v.Unconfirmed || v.Awaits == nil || v.At.Before(begun) || v.Why != "nobody confirmed it"+why {
			t.Fatalf("%s: Undo returns %v, %+v", when, err, v)
		}
		if held := Suppressed(h.Live.Files, "d7", time.Now()); held == nil || !strings.Contains(held.Error(), "generation 7 was undone: nobody confirmed it") {
			t.Errorf("%s: held back by %v", when, held)
		}
		unchanged(t, was, file)
	}

	made(time.Hour)
	if j, err := Unconfirmed(h.Live.Files); err != nil || j == nil || j.Generation != 7 {
		t.Errorf("awaiting: %v, %v", j, err)
	}
	asNobody(t, func() {
		if j, err := Unconfirmed(h.Live.Files); j != nil || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a user without the right to read gets %v, %v", j, err)
		}
		if err := CheckUndo(h.Live.Files); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a user without the right to read gets %v", err)
		}
	})
	takenBack("before it is due", VerdictFile, ", and an undo was asked for")

	j := made(time.Hour)
	j.Awaits.Up -= time.Hour
	if err := undo.Save(t.Context(), h, JournalFile, j); err != nil {
		t.Fatal(err)
	}
	if j, err := Unconfirmed(h.Live.Files); err != nil || j != nil {
		t.Errorf("a change awaits its confirmation when its undo is due: %v, %v", j, err)
	}
	if _, err := Confirm(t.Context(), h); !errors.Is(err, ErrNothingAwaits) {
		t.Errorf("it was confirmed when its undo was due: %v", err)
	}
	takenBack("when it is due", VerdictFile, " within 1h0m0s")

	j = made(time.Hour)
	boot := j.Boot
	j.Boot = "another"
	if err := undo.Save(t.Context(), h, JournalFile, j); err != nil {
		t.Fatal(err)
	}
	if _, err := Confirm(t.Context(), h); !errors.Is(err, ErrNothingAwaits) {
		t.Errorf("it was confirmed after a boot: %v", err)
	}
	j.Boot = boot
	if err := undo.Save(t.Context(), h, JournalFile, j); err != nil {
		t.Fatal(err)
	}
	takenBack("after that", VerdictFile, ", and an undo was asked for")

	made(time.Hour)
	confirmed, err := Confirm(t.Context(), h)
	if err != nil || confirmed.Awaits.Set != 3 {
		t.Fatalf("Confirm: %+v, %v; want Awaits.Set 3", confirmed, err)
	}
	if v, err := Undo(t.Context(), h, settings()); v != nil || err != nil {
		t.Errorf("the confirmed change is undone: %+v, %v", v, err)
	}
	now := look(t)
	if now["files"] == was["files"] || now["link br9"] == "" || Suppressed(h.Live.Files, "d7", time.Now()) != nil {
		t.Error("the confirmed change is not there, or is kept back")
	}
	if left := netns.Shell(t, "ls "+Dir); left != "" {
		t.Errorf("left of the checkpoint: %s", left)
	}
	if _, err := Confirm(t.Context(), h); !errors.Is(err, ErrNothingAwaits) {
		t.Errorf("it was confirmed twice: %v", err)
	}
}

// An undo ends the process that makes the change, and no other. A daemon that awaits a confirmation
// has finished the change. After a boot another process may have the same number. The line that
// keeps it: undo.go, endMaker.
func TestUndoEndsOnlyTheProcessThatMakesTheChange(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, _ := onNode(t)
	boot, err := host.BootID(h.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		j     Journal
		alive bool
	}{
		"it makes the change":          {Journal{Boot: boot}, false},
		"it awaits the confirmation":   {Journal{Boot: boot, Awaits: &Awaits{}}, true},
		"the machine has booted since": {Journal{Boot: "another"}, true},
	} {
		c.j.Process = keeper(t)
		if err := c.j.endMaker(t.Context(), h); err != nil || alive(c.j.Process) != c.alive {
			t.Errorf("%s: endMaker returns %v, and the process lives: %v", name, err, !c.alive)
		}
	}
}

// A clock that is set after a change does not move the end of the change's time. The line that
// keeps it: confirmation.go, Until (moved).
func TestAClockThatIsSetMovesNoConfirmation(t *testing.T) {
	for _, ahead := range []time.Duration{0, -time.Hour, time.Hour} {
		a := Awaits{At: time.Now().Add(-ahead), Up: host.Uptime(), For: time.Minute}
		if left := time.Until(a.Until()); left < 50*time.Second || left > time.Minute {
			t.Errorf("the clock was set by %s, and it is undone in %s", ahead, left)
		}
	}
}

// If the id of the boot cannot be read now, as when the kernel's table of open files is full, the
// agent does not take this boot for another one: an undo restores the kernel's state too, and what
// awaits a boot still awaits it. It begins no change: its undo would leave out the kernel's state.
// The lines that keep it: pkg/host/machine_id.go, IsOtherBoot; take.go, Take (BootID).
func TestTheBootCannotBeRead(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	c := armed(t, h, settings())
	c.Await(Awaits{By: "ada", For: time.Hour})
	netns.Shell(t, mild)
	if err := c.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := undo.Save(t.Context(), h, index, firstboot.Awaiting{Version: 1, Boot: c.journal.Boot}); err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "mknod /run/none c 240 0; mount --bind /run/none "+bootIDFile)
	if due, err := firstboot.Pending(h.Live.Files); due || err != nil {
		t.Errorf("a boot is due: %v, %v", due, err)
	}
	if j, err := Unconfirmed(h.Live.Files); j == nil || err != nil {
		t.Errorf("nothing awaits its confirmation: %v", err)
	}
	var refused *RefusedError
	if _, err := Take(t.Context(), h, Change{}, settings()); !errors.As(err, &refused) {
		t.Errorf("Take returns %v", err)
	}
	if v, err := Undo(t.Context(), h, settings()); err != nil || v.Why != "nobody confirmed it, and an undo was asked for" {
		t.Errorf("Undo returns %+v, %v", v, err)
	}
	netns.Shell(t, "umount "+bootIDFile)
	unchanged(t, was, VerdictFile)
}

const bootIDFile = "/proc/sys/kernel/random/boot_id"
