package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rerun"
	"github.com/netwright/netwright/test/trap"
)

const awaitingIndex = "/var/lib/netwright/awaiting/index.json"

// boots is a node whose boot fails with a file, again and again. The agent is killed or the power
// is cut while the agent restores the former file.
type boots struct {
	*bench
	path, content string // the file
	update        string // more of spec.update
	act           string // what a boot does with the file
	lost          string // a condition: the boot has acted on it
}

// good and bad return the documents without the file, and with it.
func (b boots) good(t testing.TB) documents { return b.documents(t, "") }

func (b boots) bad(t testing.TB) documents {
	return b.documents(t, fmt.Sprintf("  fileAssets:\n  - {name: boot, path: %s, mode: \"0644\", content: %q}\n", b.path, b.content))
}

func (b boots) documents(t testing.TB, files string) documents {
	return nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n  update: {splay: 0s"+b.update+"}\n"+files)
}

// begin makes the node right without the file, and sets a short window.
func (b boots) begin(t *testing.T) {
	t.Helper()
	b.prepare(t, scenario{from: []documents{b.good(t)}})
	b.shell(t, "sed -i 's/^probeWindow:.*/probeWindow: 9s/' /etc/netwright/agent.yaml; "+earlier)
	if o := b.run(t, nil, pass); o.Code != 0 || b.awaits(t) { // the boot of the first configuration is judged
		t.Fatalf("it is not right without the file: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	b.put(b.bad(t))
}

// earlier changes the record, if there is one: its boot was before this one, and in this one all
// was right before the change, as the ledger says by now.
const earlier = "test ! -e " + awaitingIndex +
	` || sed -i 's/,"right":"[^"]*"//; s/"boot":"\([^"]*\)"/"boot":"an earlier one","right":"\1"/' ` + awaitingIndex

// fail makes the file again, and leaves the node as after a boot that has read it. The record then
// belongs to an earlier boot.
func (b boots) fail(t *testing.T) {
	t.Helper()
	b.shell(t, "rm -f /var/lib/netwright/boots.json /var/lib/netwright/checkpoint/verdict.json")
	if o := b.run(t, nil, pass); o.Code != 0 || !b.awaits(t) {
		t.Fatalf("the file does not await a boot: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	b.shell(t, earlier)
	b.shell(t, b.act)
	b.until(t, b.lost)
}

// awaits says whether the record names the file.
func (b boots) awaits(t *testing.T) bool {
	t.Helper()
	return strings.Contains(b.shell(t, "cat "+awaitingIndex+" 2>/dev/null || true"), `"path":"`+b.path+`"`)
}

func (b boots) until(t *testing.T, condition string) {
	t.Helper()
	end := time.Now().Add(time.Minute) // only so that a test that hangs ends
	for b.shell(t, "if "+condition+"; then echo yes; fi") == "" {
		if time.Now().After(end) {
			t.Fatalf("it never came that %s", condition)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// reached says whether a machine outside reaches the node.
func (b boots) reached(t *testing.T) bool {
	t.Helper()
	_, err := probe.Ping(t.Context(), b.f.Netns(), netip.MustParseAddr(b.n.Address()), 0)
	return err == nil
}

// back returns what is wrong after the boot was judged. The node must be reached without the file,
// and the ledger must say once that the boot failed with it.
func (b boots) back(t *testing.T, was string) (broken []string) {
	t.Helper()
	if now := b.shell(t, "cat "+b.path+" 2>/dev/null || true"); now != was {
		broken = append(broken, fmt.Sprintf("%s is %q, was %q", b.path, now, was))
	}
	if !b.reached(t) {
		broken = append(broken, "the node is not reached:\n"+b.shell(t, "ip addr show dev host0; ip route"))
	}
	// The directory itself is empty if the agent was killed just before it removed it.
	if left := b.shell(t, "ls -A /var/lib/netwright/awaiting 2>/dev/null || true"); left != "" {
		broken = append(broken, "left: "+left)
	}
	var list []struct {
		Outcome string
		Names   []string
		Keys    []struct {
			Key  string
			Task any
		}
	}
	if err := json.Unmarshal([]byte(b.n.Read("/var/lib/netwright/boots.json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Outcome != "bad" || !slices.Contains(list[0].Names, b.path) || len(list[0].Keys) != 1 ||
		list[0].Keys[0].Key != "file:"+b.path || list[0].Keys[0].Task == nil {
		broken = append(broken, fmt.Sprintf("of the boot it is known: %+v", list))
	}
	return broken
}

// judged makes two passes, and returns what is wrong after each. Neither may make the file again.
func (b boots) judged(t *testing.T, was string) (broken []string) {
	t.Helper()
	for _, run := range []string{"the next run", "the third run"} {
		o := b.run(t, nil, pass)
		if o.Code != 1 || !strings.Contains(o.Stdout, "the first boot with it failed") {
			broken = append(broken, fmt.Sprintf("%s: exit %d\n%s%s", run, o.Code, o.Stdout, o.Stderr))
		}
		for _, what := range b.back(t, was) {
			broken = append(broken, "after "+run+": "+what)
		}
	}
	return broken
}

// onNetworkd is a node of networkd whose address the file removes. A restarted networkd may keep
// addresses that it finds, but after a boot there are none.
func onNetworkd(t *testing.T) boots {
	b := boots{
		bench: newBenchBy(t, true), path: "/usr/local/lib/systemd/network/05-bad.network",
		content: "[Match]\nName=host0\n[Network]\nAddress=192.0.2.7/24\n",
		act:     "systemctl stop systemd-networkd; ip addr flush dev host0 scope global; systemctl start systemd-networkd",
		lost:    "ip -o addr show dev host0 | grep -q 192.0.2.7",
	}
	b.begin(t)
	return b
}

// onDisk returns the calls that are no requests to the kernel or systemd, whose number depends on
// the time.
func onDisk(calls []trap.Call) []trap.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c trap.Call) bool { return strings.HasPrefix(c.Name, "send") })
}

// The agent is killed while it judges a boot: before it restores the files, in the middle, or while
// it records the result. The next pass completes the judgement. The node is reached without the
// file, and the ledger says once that the boot failed with it, and nothing else.
//
// What keeps it: pkg/checkpoint/firstboot/firstboot.go FirstBoot (Judged, Restored) and end (Note
// before drop), pkg/checkpoint/firstboot/awaiting.go drop; pkg/reconcile/revert/revert.go Forget.
func TestKilledAtTheFirstBoot(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := onNetworkd(t)
	b.fail(t)
	o := b.run(t, nil, pass)
	if broken := b.back(t, ""); o.Code != 1 || len(broken) > 0 {
		t.Fatalf("undisturbed: exit %d, %q\n%s%s", o.Code, broken, o.Stdout, o.Stderr)
	}
	tried, lost := 0, 0
	for _, n := range points(onDisk(o.Calls), "index.json") {
		b.fail(t)
		killed := b.run(t, nil, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
		if !killed.Killed {
			b.judged(t, "")
			continue // in this run it made fewer calls
		}
		tried++
		if broken := b.judged(t, ""); len(broken) > 0 {
			lost++
			call := killed.Calls[len(killed.Calls)-1]
			t.Errorf("killed at call %d of %d, %s %s:\n%s", n, len(o.Calls), call.Name, call.Target, strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: first boot", tried, lost, "of %d calls", len(o.Calls))
}

// The agent is killed during a change that acts at the next boot. After its undo, by the timer or
// by the boot, the record names the file if the file is there. Otherwise the record is gone with
// all that was kept for it.
//
// What keeps it: pkg/checkpoint/arm.go arm (Keep before the journal); pkg/checkpoint/disarm.go
// removeStale; pkg/checkpoint/undo.go undo (Trim before disarm);
// pkg/checkpoint/firstboot/awaiting.go Prove.
func TestKilledWhileItIsRecorded(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := onNetworkd(t)
	const clean = "rm -rf /var/lib/netwright/checkpoint/verdict.json"
	o := b.run(t, nil, pass)
	if o.Code != 0 || !b.awaits(t) {
		t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	tried, lost, kept := 0, 0, 0
	for _, n := range points(onDisk(o.Calls), "index.json") {
		b.put(b.good(t))
		b.shell(t, clean)
		if o := b.run(t, nil, pass); o.Code != 0 || b.awaits(t) {
			t.Fatalf("without the file: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
		}
		was := b.shell(t, "cat "+awaitingIndex+" 2>/dev/null || true")
		b.put(b.bad(t))
		killed := b.run(t, nil, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
		if !killed.Killed {
			continue
		}
		tried++
		undo := b.run(t, []string{"undo"}, pass)
		there := b.shell(t, "test ! -e "+b.path+" || echo there") != ""
		if there {
			kept++
		}
		if now := b.awaits(t); undo.Code != 0 || now != there || !there && was == "" && b.shell(t, "test ! -e /var/lib/netwright/awaiting || find /var/lib/netwright/awaiting") != "" {
			lost++
			call := killed.Calls[len(killed.Calls)-1]
			t.Errorf("killed at call %d of %d, %s %s: undo: exit %d; the file is there: %v, it awaits a boot: %v\n%s",
				n, len(o.Calls), call.Name, call.Target, undo.Code, there, now, b.shell(t, "find /var/lib/netwright/awaiting /var/lib/netwright/checkpoint || true"))
		}
	}
	report(t, "kill: what awaits a boot is recorded", tried, lost, "of %d calls; the change stayed in %d", len(o.Calls), kept)
}

// The power fails while the agent judges a boot: before the files are restored, after that, and
// just before the agent asks for another boot. The machine boots by itself at most once more. Then
// it is reached and is as before: no record is lost, and nothing is done twice.
//
// What keeps it: pkg/checkpoint/firstboot/firstboot.go FirstBoot (Judged, Restored, mayReboot).
func TestPowerCutAtTheFirstBoot(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the node")
	needs.Root(t)
	b := boots{
		bench: newBenchBy(t, false), path: "/etc/lab-network", content: "link set host0 up\naddr add 192.0.2.7/24 dev host0\n", update: ", bootUndo: reboot",
		act:  "ip addr flush dev host0; ip -batch /etc/lab-network || true", // the link is up already
		lost: "ip -o addr show dev host0 | grep -q 192.0.2.7",
	}
	was := b.n.Read(b.path)
	b.begin(t)
	tried, lost := 0, 0
	const last = 3 // writes of the index: the files to restore, the failed boot, the end
	for saves := range last + 1 {
		b.fail(t)
		saved := 0
		killed := b.run(t, nil, func(c trap.Call) trap.Decision {
			d := trap.Decision{Kill: saved == saves}
			if c.Target == "index.json" && strings.HasPrefix(c.Name, "rename") {
				saved++
			}
			return d
		})
		if !killed.Killed {
			t.Fatalf("there was no save %d: exit %d\n%s%s", saves, killed.Code, killed.Stdout, killed.Stderr)
		}
		tried++
		b.n.Kill()
		ends, err := b.up(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		broken := b.back(t, was)
		if wants := map[bool]int{true: 1}[saves < last]; ends > wants {
			broken = append(broken, fmt.Sprintf("it ended %d boots by itself, want at most %d", ends, wants))
		}
		if len(broken) > 0 {
			lost++
			t.Errorf("after %d saves:\n%s", saves, strings.Join(broken, "\n"))
		}
		b.until(t, "! systemctl -q is-active judging")
	}
	report(t, "power cut: first boot", tried, lost, "with at most one more boot")
}

// up boots the node, with an agent in each boot, until one boot is judged. It returns how many
// boots ended by themselves before. No process enters the node meanwhile, since such a process
// would keep it from ending.
func (b boots) up(ctx context.Context) (ends int, err error) {
	for ; ends < 3; ends++ {
		if err := b.n.TryBoot(ctx); err != nil {
			return ends, err
		}
		b.leader = strings.Split(b.n.Netns(), "/")[2]
		b.n.Start(ctx, "judging", "netwright", "--once")
		for root := b.n.Path("/"); err == nil; _, err = os.Stat(root) {
			if _, err := os.Stat(b.n.Root() + path.Dir(awaitingIndex)); os.IsNotExist(err) {
				return ends, nil
			}
			time.Sleep(50 * time.Millisecond)
		}
		err = nil
		b.n.Kill()
	}
	return ends, errors.New("it does not stay up")
}
