package rtnl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// Neighbours that somebody wrote down come back, with the address that they had, and those that a
// program wrote down go; those of links of Kubernetes, and of who says that he is a daemon, stay. A
// journal of an earlier release does not say what there was. The lines that keep it:
// netstate_links.go, writtenDown and restoreNeighbours; netstate_added.go, addedSince.
func TestRestoreNetBringsNeighboursBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip link add cali1 type veth peer name cali2
for l in up0 up1 cali1 cali2; do ip link set $l up; done
ip addr add 10.0.0.2/24 dev up0
ip neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev up0 nud permanent; ip neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev up0 nud permanent
ip -6 neigh add 2001:db8::1 lladdr 02:00:00:00:00:01 dev up0 nud permanent router; ip neigh add 10.0.9.9 lladdr 02:00:00:00:00:09 dev cali1 nud permanent`)
	look := func(link string) []string {
		return lines(ns.Run("sh", "-ec", "ip neigh show nud permanent dev "+link+" | sort"))
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		before := look("up0")
		was, err := h.NetState(ctx)
		ok(t, err)
		ns.Run("sh", "-ec", `ip link set up0 down; ip link set up0 up; ip neigh flush dev cali1 nud permanent
ip neigh replace 10.0.0.1 lladdr 02:00:00:00:00:66 dev up0 nud permanent; ip neigh add 10.0.0.8 lladdr 02:00:00:00:00:66 dev up0 nud permanent
ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev up0 nud permanent protocol bird`)
		var earlier NetState // as an earlier release wrote it down
		data, err := json.Marshal(was)
		ok(t, err)
		ok(t, json.Unmarshal([]byte(strings.Replace(string(data), `"neighbours":`, `"others":`, 1)), &earlier))
		written := look("up0")
		ok(t, h.RemoveAdded(ctx, earlier))
		ok(t, h.RestoreNet(ctx, earlier, NetMade{}))
		if diff := cmp.Diff(written, look("up0")); diff != "" {
			t.Errorf("by a journal of an earlier release (-before +after):\n%s", diff)
		}
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.RestoreNet(ctx, was, NetMade{}))
			after := look("up0")
			if diff := cmp.Diff(before, lines(strings.Join(after, "\n"), "bird")); diff != "" || len(after) != len(before)+1 {
				t.Errorf("not as before beside the daemon's (-before +after):\n%s\n%q", diff, after)
			}
		}
		if left := look("cali1"); len(left) > 0 {
			t.Errorf("on a link of Kubernetes: %q", left)
		}
	})
}
