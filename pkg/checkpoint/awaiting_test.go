package checkpoint

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// uplink makes a node on a link with a gateway, another neighbour, and no server beyond.
const uplink = `
ip netns add out; ip link add up0 type veth peer name up1 netns out
ip -n out addr add 10.0.0.9/24 dev up1; ip -n out addr add 10.0.0.1/24 dev up1; ip -n out link set up1 up
ip addr add 10.0.0.2/24 dev up0; ip link set up0 up; ip route add default via 10.0.0.1
mkdir -p /etc/nw /etc/systemd/system; printf was >/etc/nw/a; chmod 0640 /etc/nw/a; ln -s a /etc/nw/link
head -c 5000000 /dev/zero >/etc/nw/large`

// A window is how long probes may fail. patience is for a change, and ends as soon as the node is
// reached, however slow the disk is. bootWindow is for a bad boot, which uses three of them.
const patience, bootWindow = 20 * time.Second, 500 * time.Millisecond

// index is the file that records what awaits a boot.
const index = firstboot.Dir + "/index.json"

// onUplink returns a host with this uplink. Its files belong to the test.
func onUplink(t *testing.T) *host.Host {
	t.Helper()
	netns.Shell(t, uplink)
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// changes changes files by a shell script under a checkpoint, and returns how the change ended.
func changes(t *testing.T, h *host.Host, generation int64, reboot bool, script string, run error, files ...string) error {
	t.Helper()
	c := Change{Generation: generation, Digest: "d", Reboot: reboot, Right: "before"}
	for _, file := range files {
		key := tasks.FileKey(file)
		c.Keys = append(c.Keys, key)
		c.AtBoot = append(c.AtBoot, firstboot.Await{Key: key, Files: []string{file}, Before: []byte(`"` + file + `"`)})
	}
	point, err := Take(t.Context(), h, c, Settings{
		Probes: []probe.Probe{"neighbour:up0/10.0.0.1", "neighbour:up0/10.0.0.9"}, Window: patience,
	})
	if err == nil {
		err = point.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, script)
	return point.Finish(t.Context(), run)
}

func record(t *testing.T, h *host.Host) *firstboot.Awaiting {
	t.Helper()
	a, err := firstboot.Read(h.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A file that acts at the next boot stays on record when its change is confirmed, with what was
// there before the oldest change. The record loses a file whose change was undone, or which is as
// it was again. The lines that keep it: pkg/checkpoint/firstboot/awaiting.go, Save, Prove and
// update; finish.go, Finish; undo.go, undo (Trim).
func TestTheOldestOriginalAwaitsTheBoot(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	awaits := func(generation int64, names ...string) {
		t.Helper()
		a := record(t, h)
		if a == nil || a.Generation != generation || !slices.Equal(a.Names(), names) {
			t.Errorf("the record is %+v, want generation %d, %q", a, generation, names)
		}
	}
	if err := changes(t, h, 1, false, "printf one >/etc/nw/n; mv /etc/nw/n /etc/nw/a; printf 1 >/etc/nw/new", nil, "/etc/nw/a", "/etc/nw/new", "/etc/nw/same"); err != nil {
		t.Fatal(err)
	}
	awaits(1, "/etc/nw/a", "/etc/nw/new") // the third did not change
	want := probe.Reach{
		Addresses: []probe.ReachAddress{{LinkAddress: rtnl.LinkAddress{Link: "up0", Prefix: netip.MustParsePrefix("10.0.0.2/24")}}},
		Hops:      []probe.Probe{"neighbour:up0/10.0.0.1"}, Local: []probe.Probe{"neighbour:up0/10.0.0.9"}, TCP: true,
	}
	if diff := cmp.Diff(want, record(t, h).Reach, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("the node is reached (-want +got):\n%s", diff)
	}
	if due, err := firstboot.Pending(h.Live.Files); due || err != nil {
		t.Errorf("the record is due in its own boot: %v", err)
	}

	if err := changes(t, h, 2, false, "printf two >/etc/nw/n; mv /etc/nw/n /etc/nw/a; ln -sfn b /etc/nw/link; rm /etc/nw/large; printf x >/etc/nw/large", nil,
		"/etc/nw/a", "/etc/nw/link", "/etc/nw/large"); err != nil {
		t.Fatal(err)
	}
	awaits(2, "/etc/nw/a", "/etc/nw/new", "/etc/nw/link", "/etc/nw/large")
	a := record(t, h)
	if kept, err := os.ReadFile(a.Files[0].Copy); err != nil || string(kept) != "was" || a.Files[0].Mode != 0o640 {
		t.Errorf("the original is %q (%v), %+v", kept, err, a.Files[0])
	}
	if info, err := os.Stat(a.Files[3].Copy); err != nil || info.Size() != 5000000 {
		t.Errorf("the large original: %v", err)
	}

	var undone *UndoneError
	if err := changes(t, h, 3, true, "printf 3 >/etc/nw/three; printf three >/etc/nw/n; mv /etc/nw/n /etc/nw/a", errors.New("too late"), "/etc/nw/a", "/etc/nw/three"); !errors.As(err, &undone) {
		t.Fatal(err)
	}
	awaits(2, "/etc/nw/a", "/etc/nw/new", "/etc/nw/link", "/etc/nw/large")
	if a = record(t, h); a.Reboot || string(a.Keys[0].Before) != `"/etc/nw/a"` || len(a.Keys) != 4 {
		t.Errorf("after an undo: %+v", a)
	}

	// A person or a later document restores the files: nothing awaits a boot any more.
	netns.Shell(t, "rm /etc/nw/new; ln -sfn a /etc/nw/link; head -c 5000000 /dev/zero >/etc/nw/large")
	if err := changes(t, h, 4, false, "printf was >/etc/nw/n; chmod 0640 /etc/nw/n; mv /etc/nw/n /etc/nw/a", nil, "/etc/nw/a"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(firstboot.Dir + "*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// shelf is a test's ledger. manager stands for the managers of links: it acts on the restored
// files.
type shelf struct {
	t       *testing.T
	manager string
	right   string
	said    []string
	judged  []string // the boots that Forget got
}

func (s *shelf) Right() string { return s.right }

func (s *shelf) Forget(_ context.Context, _ *host.Host, keys []firstboot.Await, found firstboot.Boot) error {
	for _, k := range keys {
		s.said = append(s.said, "forget "+string(k.Before))
	}
	s.judged = append(s.judged, found.ID)
	netns.Shell(s.t, s.manager)
	return s.Note(s.t.Context(), nil, found)
}

func (s *shelf) Note(_ context.Context, _ *host.Host, b firstboot.Boot) error {
	s.said = append(s.said, string(b.Outcome)+" "+strings.Join(b.Names, " "))
	return nil
}

func judge(h *host.Host, books firstboot.Books, reboot func(context.Context) error) firstboot.Examiner {
	return firstboot.Examiner{Node: probe.Prober{Host: h}, Books: books, Reboot: reboot, Log: zap.NewNop()}
}

// The node's own links decide on a first boot. The lines that keep it:
// pkg/checkpoint/firstboot/firstboot.go, FirstBoot and passedOver; pkg/checkpoint/probe/reach.go,
// amiss and silent.
func TestFirstBoot(t *testing.T) {
	t.Parallel()
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	boot, err := host.BootID(h.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	const (
		loses    = "ip addr flush dev up0; ip addr add 192.0.2.7/24 dev up0; sysctl -qw net.ipv4.conf.up0.arp_ignore=8"
		wellNow  = "ip addr flush dev up0; ip addr add 10.0.0.2/24 dev up0; ip route replace default via 10.0.0.1"
		restored = "restored /etc/nw/a"
	)
	for _, c := range []struct {
		name    string
		boot    string // what the boot does to the node
		manager string
		right   string // the last boot in which all was right
		want    []string
		content string
	}{
		{name: "well", want: []string{"confirmed /etc/nw/a"}, content: "new"},
		{name: "another gateway that answers", boot: "ip route replace default via 10.0.0.9", want: []string{"confirmed /etc/nw/a"}, content: "new"},
		{name: "no address until the file is restored", boot: loses, manager: wellNow,
			want: []string{`forget "/etc/nw/a"`, restored, "bad /etc/nw/a"}, content: "was"},
		{name: "the gateway's address is wrong", boot: "ip route replace default via 10.0.0.77", manager: wellNow,
			want: []string{`forget "/etc/nw/a"`, restored, "bad /etc/nw/a"}, content: "was"},
		{name: "no default route", boot: "ip route del default", manager: wellNow,
			want: []string{`forget "/etc/nw/a"`, restored, "bad /etc/nw/a"}, content: "was"},
		{name: "the gateway has an outage, a neighbour answers", boot: "ip -n out addr del 10.0.0.1/24 dev up1; ip neigh flush dev up0",
			want: []string{"confirmed /etc/nw/a"}, content: "new"},
		{name: "no host answers, with or without the file", boot: "ip -n out link set up1 down",
			want: []string{`forget "/etc/nw/a"`, restored, "unsure /etc/nw/a"}, content: "was"},
		{name: "the network was right in the boot of the change", boot: loses, manager: wellNow, right: "another",
			want: []string{`forget "/etc/nw/a"`, restored, "bad /etc/nw/a"}, content: "was"},
		{name: "the network was right only in the boot before the change", boot: loses, manager: wellNow, right: "before",
			want: []string{`forget "/etc/nw/a"`, restored, "bad /etc/nw/a"}, content: "was"},
		{name: "an earlier release ran in a boot since", boot: "ip addr flush dev up0; ip addr add 192.0.2.7/24 dev up0", right: "between", content: "new"},
		{name: "another machine has the disk", boot: "ip addr flush dev up0; ip addr add 192.0.2.7/24 dev up0; echo another >/etc/machine-id", content: "new"},
		{name: "an earlier release ran in this boot", boot: "ip addr flush dev up0; ip addr add 192.0.2.7/24 dev up0", right: boot, content: "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			netns.Shell(t, "echo this >/etc/machine-id; printf was >/etc/nw/n; mv /etc/nw/n /etc/nw/a")
			if err := changes(t, h, 1, false, "printf new >/etc/nw/n; mv /etc/nw/n /etc/nw/a", nil, "/etc/nw/a"); err != nil {
				t.Fatal(err)
			}
			booted(t, h)
			netns.Shell(t, c.boot)
			books := &shelf{t: t, manager: c.manager, right: c.right}
			never := func(context.Context) error { t.Error("a reboot, which nobody allows"); return nil }
			if err := judge(h, books, never).FirstBoot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(books.said, c.want) {
				t.Errorf("said %q, want %q", books.said, c.want)
			}
			if now, err := os.ReadFile("/etc/nw/a"); err != nil || string(now) != c.content {
				t.Errorf("the file is %q (%v), want %q", now, err, c.content)
			}
			if a := record(t, h); a != nil {
				t.Errorf("left: %+v", a)
			}
			if now := netns.Shell(t, "sysctl -n net.ipv4.conf.up0.arp_ignore"); now != "0\n" {
				t.Errorf("a sysctl of the boot stays: %s", now)
			}
			netns.Shell(t, "ip -n out link set up1 up; ip -n out addr replace 10.0.0.1/24 dev up1; "+wellNow)
		})
	}
}

// booted turns the record into one of an earlier boot.
func booted(t *testing.T, h *host.Host) {
	t.Helper()
	a := record(t, h)
	a.Window = bootWindow
	if a.Boot = "another"; a.Restored != "" {
		a.Judged, a.Restored = "one more", "one more"
	}
	if a.Rebooted != "" {
		a.Rebooted = "one more"
	}
	if err := undo.Save(t.Context(), h, index, a); err != nil {
		t.Fatal(err)
	}
}

var errKilled = errors.New("killed")

// There is at most one reboot, where the restored files did not help, and only if the documents ask
// for it. The next boot decides, and asks for no further one. The lines that keep it:
// pkg/checkpoint/firstboot/firstboot.go, FirstBoot (Restored).
func TestABootAsksForOneMoreAtMost(t *testing.T) {
	t.Parallel()
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	for _, c := range []struct{ then, want string }{
		{"ip -n out link set up1 up", "bad /etc/nw/a"},
		{"true", "unsure /etc/nw/a"},
		{"printf mine >/etc/nw/n; mv /etc/nw/n /etc/nw/a", "unsure /etc/nw/a"}, // a program writes it at each boot
	} {
		netns.Shell(t, "printf was >/etc/nw/n; mv /etc/nw/n /etc/nw/a")
		if err := changes(t, h, 1, true, "printf new >/etc/nw/n; mv /etc/nw/n /etc/nw/a", nil, "/etc/nw/a"); err != nil {
			t.Fatal(err)
		}
		booted(t, h)
		netns.Shell(t, "ip -n out link set up1 down")
		books := &shelf{t: t}
		asked := 0
		reboot := func(context.Context) error { asked++; return errKilled }
		for killed := range 2 { // the same boot judges again
			if err := judge(h, books, reboot).FirstBoot(t.Context()); !errors.Is(err, errKilled) || asked != killed+1 {
				t.Fatalf("no reboot was asked for: %v", err)
			}
		}
		booted(t, h)
		netns.Shell(t, c.then)
		if err := judge(h, books, reboot).FirstBoot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := books.said[len(books.said)-1]; last != c.want || record(t, h) != nil {
			t.Errorf("after %q it ended with %q, want %q", c.then, last, c.want)
		}
		netns.Shell(t, "ip -n out link set up1 up")
	}
}

// A boot ends while files are being restored, so the next boot still had some of the bad ones. That
// boot restores the rest, and confirms nothing of the mixture. The line that keeps it:
// pkg/checkpoint/firstboot/firstboot.go, FirstBoot (isBack).
func TestABootEndsInTheMiddle(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	if err := changes(t, h, 1, false, "printf new >/etc/nw/n; mv /etc/nw/n /etc/nw/a; rm /etc/nw/link", nil, "/etc/nw/a", "/etc/nw/link"); err != nil {
		t.Fatal(err)
	}
	a := record(t, h)
	if a.Judged, a.Restored, a.Why = "one more", "one more", "no way out"; undo.Save(t.Context(), h, index, a) != nil {
		t.Fatal("not written")
	}
	netns.Shell(t, "ln -s a /etc/nw/link") // one was restored
	booted(t, h)
	books := &shelf{t: t}
	if err := judge(h, books, h.Units.Reboot).FirstBoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{`forget "/etc/nw/a"`, `forget "/etc/nw/link"`, "restored /etc/nw/a /etc/nw/link", "bad /etc/nw/a /etc/nw/link"}
	if now, err := os.ReadFile("/etc/nw/a"); err != nil || string(now) != "was" || !slices.Equal(books.said, want) {
		t.Errorf("the file is %q (%v), said %q", now, err, books.said)
	}
	if !slices.Equal(books.judged, []string{"one more"}) { // by this name the ledger knows it again
		t.Errorf("the boots that were judged: %q", books.judged)
	}
}

// A record whose removal was interrupted does not count, and is removed. The same holds for a
// record that was interrupted before it was complete. The lines that keep it:
// pkg/checkpoint/firstboot/awaiting.go, drop and Trim; disarm.go, removeStale.
func TestNothingIsLeftOfARecord(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	left := func() string {
		return strings.TrimSpace(netns.Shell(t, "test ! -e "+firstboot.Dir+" || find "+firstboot.Dir))
	}
	if err := changes(t, h, 1, false, "printf new >/etc/nw/n; mv /etc/nw/n /etc/nw/a", nil, "/etc/nw/a"); err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "rm "+firstboot.Dir+"/content-*")
	empty := firstboot.Awaiting{Version: 1, Boot: "another"}
	if err := undo.Save(t.Context(), h, index, empty); err != nil {
		t.Fatal(err)
	}
	if now := left(); now != firstboot.Dir+"\n"+index {
		t.Errorf("an empty record has\n%s", now)
	}
	books := &shelf{t: t}
	if err := judge(h, books, h.Units.Reboot).FirstBoot(t.Context()); err != nil || len(books.said) > 0 || left() != "" {
		t.Errorf("%v, said %q, left:\n%s", err, books.said, left())
	}

	netns.Shell(t, "mkdir -p "+Dir+" "+firstboot.Dir+"; touch "+firstboot.Dir+"/content-1; printf '{}' >"+scaffoldFile)
	if _, err := Undo(t.Context(), h, Settings{}); err != nil || left() != "" {
		t.Errorf("%v, left:\n%s", err, left())
	}
}

// A damaged record is reported, and keeps nothing back.
func TestADamagedRecordIsSaid(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":99}`} {
		if due, err := firstboot.Pending(files{index: text}); due || err == nil || !strings.Contains(err.Error(), index) {
			t.Errorf("of %q it says %v", text, err)
		}
	}
	if due, err := firstboot.Pending(files{}); due || err != nil {
		t.Errorf("without a record: %v", err)
	}
	if due, _ := firstboot.Pending(files{index: `{"version":1,"boot":"a"}`, "/proc/sys/kernel/random/boot_id": "a\n"}); due {
		t.Error("it is due in its own boot")
	}
}
