package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// before is a script that makes the node of the tests below, and change is a script that changes
// it.
const (
	before = `
ip link add up0 type veth peer name up1
ip link set up1 up; ip link set up0 up
sysctl -qw net.ipv6.conf.up0.accept_dad=0
ip addr add 10.0.0.2/24 dev up0; ip -6 addr add 2001:db8::2/64 dev up0 nodad
ip route add default via 10.0.0.1; ip -6 route add 2001:db8:9::/48 via 2001:db8::9 dev up0
ip route add 10.9.0.0/24 via 10.0.0.9 table 100; ip rule add from 10.9.0.0/24 lookup 100 pref 700
ip link add up0.7 type veth peer name other
sysctl -qw net.ipv4.conf.up0/7.rp_filter=2 net.ipv4.conf.up0.accept_redirects=0 net.ipv4.conf.up0.send_redirects=0
nft 'add table ip theirs; add chain ip theirs c { type filter hook input priority 0; }; add rule ip theirs c ip saddr 10.1.0.0/16 meta mark set 1'
mkdir -p /etc/systemd/system /etc/nw/old; chmod 0700 /etc/nw/old
printf was >/etc/nw/content; chown 12:13 /etc/nw/content; chmod 0640 /etc/nw/content
printf 1234 >/etc/nw/same-size; printf x >/etc/nw/meta; chown 12:13 /etc/nw/meta; chmod 0751 /etc/nw/meta; printf '[a]\nb = 1\n' >/etc/nw/c.toml
printf x >/etc/nw/old/file; ln -s content /etc/nw/link; ln -s content /etc/nw/lost-link
head -c 5000000 /dev/zero >/etc/nw/large; chown 12:13 /etc/nw/large; chmod 0751 /etc/nw/large; cp -p /etc/nw/large /etc/nw/large-meta`
	change = `
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.up0/7.rp_filter=0 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1 net.ipv6.conf.up0.disable_ipv6=1
ip route del default; ip route add default via 10.0.0.66 proto 149; ip rule del pref 700; ip addr add 10.77.0.1/24 dev up0; ip link add br9 type bridge; ip link set up0 mtu 1400
nft 'add table inet ours; delete table ip netwright; add table ip netwright'
printf other >/etc/nw/content; chown 0:0 /etc/nw/content; printf 4321 >/etc/nw/same-size; chmod 0600 /etc/nw/meta; chown 0:0 /etc/nw/meta
printf '[a]\nb = 2\n' >/etc/nw/c.toml; rm -r /etc/nw/old; ln -sf other /etc/nw/link; rm /etc/nw/lost-link; printf x >/etc/nw/lost-link
rm /etc/nw/large; printf x >/etc/nw/large; chmod 0600 /etc/nw/large-meta; chown 0:0 /etc/nw/large-meta
mkdir -p /etc/nw/new/deep /etc/nw/shared; printf x >/etc/nw/new/deep/file; printf x >/etc/nw/shared/theirs`
)

// changed has the keys of the change.
var changed = []graph.Key{
	tasks.FileKey("/etc/nw/content"), tasks.FileKey("/etc/nw/same-size"), tasks.FileKey("/etc/nw/meta"), "toml:/etc/nw/c.toml#a.b", "toml:/etc/nw/c.toml#a.c",
	tasks.FileKey("/etc/nw/old"), tasks.FileKey("/etc/nw/old/file"), tasks.FileKey("/etc/nw/link"), tasks.FileKey("/etc/nw/lost-link"), tasks.FileKey("/etc/nw/large"),
	tasks.FileKey("/etc/nw/large-meta"), tasks.FileKey("/etc/nw/new"), tasks.FileKey("/etc/nw/new/deep"), tasks.FileKey("/etc/nw/new/deep/file"), tasks.FileKey("/etc/nw/shared"),
	tasks.SysctlKey("net.ipv4.ip_forward"), tasks.SysctlKey("net.ipv6.conf.up0.disable_ipv6"),
	tasks.LinkKey("br9"), tasks.AddressKey("up0", netip.MustParsePrefix("10.77.0.1/24")), tasks.TableKey("inet", "ours"), tasks.TableKey("ip", "netwright"), tasks.TableKey("ip", "theirs"),
}

// look returns the state of the node, by programs that are not ours. It leaves out what the kernel
// itself makes a moment later.
func look(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"files": netns.Shell(t, "cd /etc; find nw systemd -printf '%p %y %m %U:%G %l ' ! -type f -printf '\\n' -o -type f -exec md5sum {} ';' | grep -v '^nw/shared' | sort")}
	var links []struct {
		Ifname, Master string
		MTU            int
		Addresses      []struct {
			Local, Scope string
			Prefixlen    int
		} `json:"addr_info"`
	}
	if err := json.Unmarshal([]byte(netns.Shell(t, "ip -j addr")), &links); err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		out["link "+l.Ifname] = fmt.Sprint(l.MTU, l.Master)
		for _, a := range l.Addresses {
			if a.Scope != "link" {
				out["address "+a.Local] = fmt.Sprint(l.Ifname, a.Prefixlen, a.Scope)
			}
		}
	}
	out["routes"] = strings.ReplaceAll(netns.Shell(t, "ip rule; ip -6 rule; ip route; ip route show table 100; ip -6 route show proto boot; nft list tables | sort | while read -r t; do nft -s list $t; done"), "linkdown ", "")
	for line := range strings.Lines(netns.Shell(t, "cd /proc/sys/net; grep -r . ipv4/ip_forward ipv4/conf ipv6/conf 2>/dev/null | grep -v stable_secret || true")) {
		key, value, _ := strings.Cut(line, ":")
		out["sysctl "+key] = value
	}
	return out
}

// onNode returns a host with the node of the tests, and the node's state. Its network and files
// belong to the test.
func onNode(t *testing.T) (*host.Host, map[string]string) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{Init: "systemd"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	netns.Shell(t, before)
	ours := firewall.Table{Family: "ip", Name: "netwright", Chains: []firewall.Chain{{Name: "post", Type: "nat", Hook: "postrouting", Priority: 100,
		Rules: []firewall.NFRule{{SrcIn: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}, Verdict: "masquerade"}}}}}
	if err := h.Firewall.ReplaceTable(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	return h, look(t)
}

// reaches is a probe that passes as long as the node has its default route.
func reaches(context.Context, netip.Addr) error {
	out, err := exec.Command("ip", "route", "show", "default").Output()
	if err == nil && !strings.Contains(string(out), "via 10.0.0.1 ") {
		err = errors.New("no way out")
	}
	return err
}

// settings returns the settings of the tests: one probe that matters, one that never passed, and a
// store that always answers.
func settings() Settings {
	return Settings{
		Probes: []probe.Probe{"ping:10.0.0.1", "nonsense:x"}, Window: time.Second, Store: probe.StoreProbe("/srv/store", "c"),
		Means: probe.Means{Ping: reaches, Store: func(context.Context, string, string) error { return nil }},
		Record: func(_ context.Context, _ *host.Host, memory json.RawMessage, _ Verdict) error {
			return os.WriteFile("/run/recorded", memory, 0o600)
		},
	}
}

func armed(t *testing.T, h *host.Host, s Settings) *Checkpoint {
	t.Helper()
	c, err := Take(t.Context(), h, Change{Generation: 7, Digest: "d7", Keys: changed, Before: json.RawMessage(`"memory"`)}, s)
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := []probe.Probe{"ping:10.0.0.1", s.Store}; !slices.Equal(c.journal.Probes, want) {
		t.Errorf("probes %v, want those that pass: %v", c.journal.Probes, want)
	}
	return c
}

// unchanged checks that the node is as it was. Of the checkpoint only the verdict is left, and the
// copy where it is kept.
func unchanged(t *testing.T, was map[string]string, left ...string) {
	t.Helper()
	if diff := cmp.Diff(was, look(t)); diff != "" {
		t.Errorf("not as before (-before +after):\n%s", diff)
	}
	have, err := filepath.Glob(Dir + "/*")
	if err != nil || !slices.Equal(have, left) {
		t.Errorf("left of the checkpoint: %v, %v; want %v", have, err, left)
	}
}

// An undo restores whatever a change did: in the process that made it, in another process, and
// again after it was killed in the middle. It does so also if somebody has undone a half by hand.
// The lines that keep it: pkg/checkpoint/undo/capture.go, Take and file;
// pkg/checkpoint/undo/restore.go, all of it; disarm.go, dismantle; boot_unit.go.
func TestUndoBringsAllBack(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	for _, way := range []string{"itself", "another", "killed in the middle", "half of it is done"} {
		s := settings()
		c := armed(t, h, s)
		if text := look(t)["files"]; !strings.Contains(text, "systemd/system/"+bootUnit) || !strings.Contains(text, "sysinit.target.wants/"+bootUnit) {
			t.Errorf("%s: the next boot would not undo:\n%s", way, text)
		}
		netns.Shell(t, change)
		var v Verdict
		switch way {
		case "itself":
			var undone *UndoneError
			if err := c.Finish(t.Context(), nil); !errors.As(err, &undone) {
				t.Fatalf("%s: Finish returns %v", way, err)
			}
			v = undone.Verdict
		default:
			if way == "half of it is done" {
				netns.Shell(t, "ip link del br9; sysctl -qw net.ipv6.conf.up0.disable_ipv6=0; rm /etc/nw/link /etc/nw/lost-link; nft delete table inet ours; rm -r /etc/nw/new")
			}
			if way == "killed in the middle" {
				s.Record = func(context.Context, *host.Host, json.RawMessage, Verdict) error { return errors.New("killed") }
				if _, err := Undo(t.Context(), h, s); err == nil {
					t.Fatal("no error")
				}
				s = settings()
			}
			got, err := Undo(t.Context(), h, s)
			if err != nil || got == nil {
				t.Fatalf("%s: the error is %v", way, err)
			}
			v = *got
		}
		if !v.Bad || !strings.Contains(v.Why, "ping:10.0.0.1 (no way out)") || strings.Contains(v.Why, "store") {
			t.Errorf("%s: verdict %+v", way, v)
		}
		if text, err := os.ReadFile("/run/recorded"); err != nil || string(text) != `"memory"` {
			t.Errorf("%s: recorded %q, %v", way, text, err)
		}
		unchanged(t, was, VerdictFile)
		if theirs, err := os.ReadFile("/etc/nw/shared/theirs"); err != nil || string(theirs) != "x" {
			t.Errorf("%s: what others put into a directory of the change: %q, %v", way, theirs, err)
		}
		netns.Shell(t, "rm -r /run/recorded /etc/nw/shared "+Dir)
	}
}

// A reboot resets the kernel's state. So an undo after it restores only files, and no probe asks
// whether the change was the cause. The lines that keep it: undo.go, restore (Boot), Undo and undo
// (Boot).
func TestUndoAfterABoot(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	armed(t, h, settings())
	netns.Shell(t, change)
	now := look(t)
	j, err := Pending(h.Live.Files)
	if err != nil || j == nil {
		t.Fatalf("the pending journal: %v, %v; want one", j, err)
	}
	j.Boot = "another"
	if err := undo.Save(t.Context(), h, JournalFile, j); err != nil {
		t.Fatal(err)
	}
	v, err := Undo(t.Context(), h, settings())
	if err != nil || v == nil || v.Bad || v.Unsure == "" {
		t.Errorf("verdict %+v, %v", v, err)
	}
	now["files"] = was["files"]
	unchanged(t, now, VerdictFile)
}

// A change after which the probes pass stays, and everything else of the checkpoint is removed. A
// change that did not complete is undone though the probes pass, and that bans nothing. The lines
// that keep it: finish.go, Finish; take.go, Drop; arm.go, arm; disarm.go, dismantle.
func TestFinish(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	harmless := "printf other >/etc/nw/content"
	undone := func(err error) (v Verdict) {
		t.Helper()
		var e *UndoneError
		if !errors.As(err, &e) {
			t.Fatalf("not undone: %v", err)
		}
		return e.Verdict
	}

	c := armed(t, h, settings())
	netns.Shell(t, harmless)
	ended, cancel := context.WithCancel(t.Context()) // the agent must end, but still decides on the change
	cancel()
	if v := undone(c.Finish(ended, errors.New("too long"))); v.Bad || v.Why != "too long" || v.Tries != 1 {
		t.Errorf("of what did not come to its end: %+v", v)
	}
	unchanged(t, was, VerdictFile)
	if Suppressed(h.Live.Files, "d7", time.Now()) == nil || Suppressed(h.Live.Files, "d8", time.Now()) != nil {
		t.Error("the generation is not held back for a while, or another is")
	}

	// Another process undid it meanwhile, and has a checkpoint of its own, which this process must
	// not end.
	c = armed(t, h, settings())
	netns.Shell(t, harmless)
	c.journal.Process.Started++
	if err := c.Finish(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "undone before it ended") {
		t.Errorf("a checkpoint of somebody else: %v", err)
	}
	if j, err := Pending(h.Live.Files); j == nil || err != nil {
		t.Errorf("it is gone: %v", err)
	}
	c.journal.Process.Started--

	keeps := settings()
	keeps.CachesCopy = true
	c.settings = keeps
	if err := c.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "printf was >/etc/nw/content")
	unchanged(t, was, binaryFile) // the verdict was removed with the good change

	// Before it is armed, and if that fails, a checkpoint leaves nothing and changes nothing.
	c, err := Take(t.Context(), h, Change{Keys: changed}, settings())
	if err == nil {
		err = c.Drop(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, was)
	netns.Shell(t, "mkdir -p "+JournalFile+"/in/the/way")
	if c, err = Take(t.Context(), h, Change{Keys: changed}, settings()); err == nil {
		err = c.Arm(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "the change is not made") {
		t.Errorf("armed without a journal: %v", err)
	}
	netns.Shell(t, "rm -r "+JournalFile)
	if v, err := Undo(t.Context(), h, settings()); v != nil || err != nil { // the next pass
		t.Errorf("an undo of nothing: %+v, %v", v, err)
	}
	unchanged(t, was)
}

// If an undo cannot restore a part, the verdict stays open, and the error says so. A later undo
// restores that part. The line that keeps it: undo.go, undo (restore).
func TestAnUndoThatIsNotWholeYet(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	c := armed(t, h, settings())
	netns.Shell(t, change+"\nmount --bind /etc/nw /etc/nw; mount -o remount,bind,ro /etc/nw")
	err := c.Finish(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "it is not known whether the change was the cause: the change is undone in part. The agent tries it again after") {
		t.Errorf("it says %v", err)
	}
	netns.Shell(t, "umount /etc/nw")
	if v, err := Undo(t.Context(), h, settings()); v == nil || err != nil {
		t.Errorf("it is not done when it can be: %v", err)
	}
	unchanged(t, was, VerdictFile)
}

// The disk becomes full after the checkpoint is armed. The undo still restores every file and
// completes. The lines that keep it: arm.go, reserveRoom; undo.go, undo (verdictReserve) and
// restore (filesReserve).
func TestAnUndoHasRoomOnAFullDisk(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, _ := onNode(t)
	const file = "/var/lib/nw"
	netns.Shell(t, "head -c 50000 /dev/urandom >"+file+"; cp "+file+" /run/was")
	settings := Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Minute,
		Record: func(ctx context.Context, h *host.Host, _ json.RawMessage, _ Verdict) error {
			return undo.Save(ctx, h, Dir+"/../books", strings.Repeat("x", 50000))
		}}
	c, err := Take(t.Context(), h, Change{Generation: 1, Digest: "d", Keys: []graph.Key{tasks.FileKey(file)}}, settings)
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "printf other >"+file+"; if cat /dev/zero >/var/lib/full 2>/dev/null || cp /run/was /var/lib/more 2>/dev/null; then exit 9; fi; rm /var/lib/more")
	err = c.Finish(t.Context(), errors.New("too long"))
	if _, undone := errors.AsType[*UndoneError](err); !undone || strings.Contains(err.Error(), "no space") {
		t.Errorf("%v; want an UndoneError that names no full disk", err)
	}
	netns.Shell(t, "cmp "+file+" /run/was; test -s "+VerdictFile+"; ls "+Dir+" >/run/left; printf 'verdict.json\n' | diff - /run/left")
}

// The room for the undo of many files is written in parts, so memory does not grow with their
// number. The line that keeps it: arm.go, fill.
func TestTheRoomForAnUndoIsWrittenInParts(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, _ := onNode(t)
	const files, mostBytes = 1000, 1 << 20
	j := &Journal{Log: undo.Log{Files: make([]undo.File, files)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := j.reserveRoom(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > mostBytes {
		t.Errorf("the room for %d files allocates %d bytes, want at most %d", files, allocated, mostBytes)
	}
	room, err := h.Live.Files.Lstat(filesReserve)
	if err != nil || room.Size < files*8192 {
		t.Errorf("the room has %d bytes, want at least %d: %v", room.Size, files*8192, err)
	}
}
