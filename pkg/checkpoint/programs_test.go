package checkpoint

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// hook returns a change that starts a program with unknown effects.
func hook(t *testing.T) Change {
	t.Helper()
	unit := tasks.UnitState{Name: "hook.service", Within: time.Minute}
	return Change{Generation: 7, Digest: "d7", OwnLinks: []string{"weft*"}, Keys: unit.Owns(), Tasks: map[graph.Key]tasks.Task{unit.Owns()[0]: unit}}
}

// A program changes the network, and no key names these changes. They are undone by the same
// process, or by another one from the journal. For a change without a program the journal keeps
// nothing of this. The lines that keep it: pkg/checkpoint/undo/restore_hooks.go;
// pkg/tasks/kind_lookup.go, RunsPrograms.
func TestWhatAProgramDidIsTakenBack(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	did := `ip link set up0 down; ip addr flush dev up0; ip link add br8 type bridge; ip addr add 10.0.0.1/24 dev br8; ip link set br8 up
sysctl -qw net.ipv4.tcp_syncookies=0 net.ipv4.neigh.up0.gc_stale_time=7 net.ipv4.ip_default_ttl=1 net.ipv4.conf.up0.rp_filter=1
ip rule add pref 1 blackhole; ip route add blackhole 10.0.0.0/8
nft 'add table inet shut; add chain inet shut c { type filter hook output priority 0; policy drop; }; flush table ip theirs'`
	values := "sysctl net.ipv4.tcp_syncookies net.ipv4.neigh.up0.gc_stale_time net.ipv4.ip_default_ttl"
	before := netns.Shell(t, values)
	for _, way := range []string{"itself", "another"} {
		c, err := Take(t.Context(), h, hook(t), settings())
		if err == nil {
			err = c.Arm(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		netns.Shell(t, did+"; ip link add weft0 type bridge")
		if way == "itself" {
			if err = c.Finish(t.Context(), nil); err == nil {
				t.Error("the program's changes were not undone")
			}
		} else if _, err = Undo(t.Context(), h, settings()); err != nil {
			t.Error(err)
		}
		v, _ := lastVerdict(h.Live.Files)
		if v == nil || !v.Bad || len(v.Left) > 0 {
			t.Errorf("%s: verdict %+v", way, v)
		}
		if now := netns.Shell(t, values); now != before {
			t.Errorf("%s: sysctls are\n%s", way, now)
		}
		netns.Shell(t, "ip link del weft0") // a link of the network stays
		unchanged(t, was, VerdictFile)
		netns.Shell(t, "rm -r /run/recorded "+Dir)
	}
	c, err := Take(t.Context(), h, Change{Keys: changed}, settings())
	if err != nil || c.journal.Around != nil {
		t.Errorf("a change without a program: %v", err)
	}
	if err := c.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}
