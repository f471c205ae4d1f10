package torture

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// ways has further courses of events. The agent repairs what somebody changed, and removes what is
// no longer wanted. It rolls back to an earlier revision, and resets the node. It makes and undoes
// changes that may cut the node off.
//
// What keeps it: pkg/reconcile/ownership/intend.go Intend (prune) and noted (repair),
// pkg/reconcile/rollback.go Rollback: the pin comes last, pkg/reset/reset.go: the ledger goes last,
// and what it owes is done over what comes back; pkg/checkpoint/arm.go: what is to be taken away is
// written down before it is there.
func ways(t testing.TB) []scenario {
	spec := func(word, more string) documents {
		return nodeDocuments(t, "v1", baseSpec+more+harmlessExtras(word, "128"))
	}
	bridge := spec("one", "  networking:\n    bridge: {}\n")
	moved := spec("two", "  networking:\n    bridge: {mtu: 1400}\n    cni: {confDir: /etc/cni/conf.d}\n")
	own := spec("one", "  networking:\n    cni: {}\n")
	own["cluster.yaml"] = strings.Replace(own["cluster.yaml"], "- name: cni-plugins\n", "- name: cni-plugins\n    members: [bridge, host-local, portmap, loopback]\n", 1)
	nothing := nodeDocuments(t, "v1", baseSpec+"  networking:\n    cni: {}\n")
	nothing["cluster.yaml"] = strings.Replace(nothing["cluster.yaml"], "- name: cni-plugins\n", "- name: cni-plugins\n    members: [portmap, loopback]\n", 1)
	allowed := maps.Clone(nothing)
	allowed["cluster.yaml"] = strings.Replace(allowed["cluster.yaml"], "    cni: {}\n", "    cni: {}\n    switch: {allow: true}\n", 1)
	risky := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {mtu: 1400}\n"+extras("two", "128"))
	risky["cluster.yaml"] = strings.Replace(risky["cluster.yaml"], "sysctlParameters: [", "sysctlParameters: [net.ipv4.conf.host0.arp_announce=1, ", 1)
	watched := maps.Clone(risky)
	watched["cluster.yaml"] = strings.Replace(risky["cluster.yaml"], "watch: 0s", "watch: 1h", 1)
	// containerd makes the directory of its confs at its start, if it is absent.
	theirs := map[string]string{"/etc/cni/net.d/README": "a person's\n", "/etc/motd.d/cluster": "a person's\n", "/etc/sysctl.d/99-netwright.conf": "# a person's\n"}
	return []scenario{
		{name: "repair", from: []documents{bridge}, store: bridge, begin: (*bench).spoil},
		{name: "prune", from: []documents{own}, store: nothing},
		{name: "switch", from: []documents{bridge}, store: allowed, alone: []string{"--once"}, clear: (*bench).acquit},
		{name: "rollback", from: []documents{bridge, moved}, store: moved, args: []string{"rollback", "1"}, needs: confNeeds("/etc/cni/net.d"),
			alone: []string{"--once"}, ready: (*bench).held},
		{name: "reset", theirs: theirs, from: []documents{moved}, store: moved, begin: (*bench).enable, args: []string{"reset"}, after: "config.toml", fresh: true, ready: (*bench).restarted},
		{name: "change under a checkpoint", from: []documents{bridge}, store: risky, alone: []string{"--once"}, clear: (*bench).acquit},
		{name: "undo", from: []documents{bridge}, store: risky, begin: (*bench).unconfirmed, args: []string{"undo"},
			ready: func(b *bench, t testing.TB) string { return b.quietWith(t, bridge) }},
		{name: "watched undo", from: []documents{bridge}, store: watched, begin: (*bench).lose, args: []string{"undo", "--watch"},
			ready: func(b *bench, t testing.TB) string { return b.quietWith(t, bridge) }},
	}
}

func shippedUnit(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../systemd/netwright-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// restarted checks that containerd was asked once to read its new settings, whenever the agent was
// killed.
func (b *bench) restarted(t testing.TB) string {
	if n := b.starts(t); n != 1 {
		return fmt.Sprintf("containerd was restarted %d times, want once", n)
	}
	return ""
}

// held checks that the node says that it is held at the first revision.
func (b *bench) held(t testing.TB) string {
	if out := b.shell(t, "netwright history"); !strings.Contains(out, "held at revision 1 by") {
		return "not held: " + out
	}
	return ""
}

// spoil changes files of the agent, as somebody else might.
func (b *bench) spoil(t testing.TB) {
	b.shell(t, "echo theirs >/etc/motd.d/cluster; echo theirs >>/etc/sysctl.d/99-netwright.conf; rm /srv/kubernetes/lab.d/one; echo 64 >/proc/sys/net/core/somaxconn")
}

// enable makes the daemon start at the next boot.
func (b *bench) enable(t testing.TB) { b.shell(t, "systemctl enable -q netwright-agent") }

// acquit removes the verdict on a generation, as a person does who knows that the change was not
// the cause.
func (b *bench) acquit(t testing.TB) { b.shell(t, "rm -f /var/lib/netwright/checkpoint/verdict.json") }

// unconfirmed leaves a change under a checkpoint that was made and not confirmed, since the agent
// was killed just before.
func (b *bench) unconfirmed(t testing.TB) {
	o := b.run(t, nil, func(c trap.Call) trap.Decision {
		return trap.Decision{Kill: c.Name == "unlinkat" && path.Base(c.Target) == "journal.json"}
	})
	if !o.Killed {
		t.Fatalf("no change was made under a checkpoint: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
}

// each finds how often a watch looks.
var each = regexp.MustCompile(`"each":\d+`)

// lose leaves a good change that is watched, and whose hook cuts the node off. The watching process
// is then killed, and looks more often than otherwise.
func (b *bench) lose(t testing.TB) {
	t.Helper()
	if o := b.run(t, nil, pass); o.Code != 0 {
		t.Fatalf("the change that is watched: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	b.shell(t, "systemctl stop netwright-watch.timer; systemctl stop netwright-watch.service 2>/dev/null || true") // a watch that never ran is no longer loaded
	const file = "/var/lib/netwright/checkpoint/watch.json"
	text := b.n.Read(file)
	if !each.MatchString(text) {
		t.Fatalf("it is not watched: %s", text)
	}
	b.n.Write(file, each.ReplaceAllString(text, `"each":100000000`), 0o600)
	b.shell(t, "ip link set host0 down")
}

// quietWith checks that with the documents from before the change all is right, and stays so.
func (b *bench) quietWith(t testing.TB, d documents) string {
	b.put(d)
	before := b.tree(t)
	o := b.run(t, nil, pass)
	if left := differs(b.tree(t), before); o.Code != 0 || len(left) > 0 {
		return fmt.Sprintf("with the documents from before: exit %d, %v\n%s%s", o.Code, left, o.Stdout, o.Stderr)
	}
	return ""
}

// scaffold has the files that exist while a change is made under a checkpoint, and are gone after
// the next run.
var scaffold = []string{"/etc/systemd/system/netwright-undo.service", "/etc/systemd/system/sysinit.target.wants/netwright-undo.service"}

// timed returns the node's tree with the time of each file's last change.
func (b *bench) timed(t testing.TB) tree {
	t.Helper()
	out := b.tree(t)
	for name := range out {
		var st unix.Stat_t
		if err := unix.Lstat(b.n.Upper()+name, &st); err != nil {
			t.Fatal(err)
		}
		if name == "/var/lib" || name == "/etc/systemd/system/multi-user.target.wants" {
			continue // the ledger in it changes its time; the test enabled the daemon
		}
		out[name] += fmt.Sprintf(" at %d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
	}
	return out
}

// traces lists the files that the agent left of itself.
func (b *bench) traces(t testing.TB) (left []string) {
	t.Helper()
	for _, d := range differs(b.timed(t), b.fresh) {
		left = append(left, "a trace: "+d)
	}
	if live := b.live(t); live != b.freshLive {
		left = append(left, "the network is\n"+live+"not\n"+b.freshLive)
	}
	return left
}

// The agent is killed while it writes the first file of a checkpoint, and the documents withdraw
// the change. The next run takes no checkpoint, and leaves no file that was staged for one. The
// line that keeps it: pkg/reconcile/carry_out.go, carryOut (RemoveStale).
func TestKilledBeforeACheckpointStands(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	all := ways(t)
	s := all[slices.IndexFunc(all, func(s scenario) bool { return s.name == "change under a checkpoint" })]
	b.prepare(t, s)
	o := b.run(t, nil, func(c trap.Call) trap.Decision {
		return trap.Decision{Kill: c.Name == "renameat" && path.Base(c.Target) == "scaffold.json"}
	})
	const staged = "find /var/lib/netwright/checkpoint -name '.netwright-*'"
	if !o.Killed || b.shell(t, staged) == "" {
		t.Fatalf("no checkpoint was begun: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	b.put(s.from[0])
	if o := b.run(t, nil, pass); o.Code != 0 {
		t.Errorf("with the documents from before: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	if left := b.shell(t, staged); left != "" {
		t.Errorf("it leaves %s", left)
	}
}
