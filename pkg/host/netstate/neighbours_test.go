package netstate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// An undo restores permanent neighbours with their addresses, and removes those that a program
// added. Neighbours of links of Kubernetes stay, and so do those of a daemon that marks its own.
// What the kernel or a control plane learned is not restored. A journal of an earlier release does
// not have the former neighbours. The lines that keep it: neighbours.go, writtenDown and
// restoreNeighbours; remove_added.go, addedSince.
func TestRestoreBringsNeighboursBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip link add cali1 type veth peer name cali2
for l in up0 up1 cali1 cali2; do ip link set $l up; done
ip addr add 10.0.0.2/24 dev up0
ip neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev up0 nud permanent; ip neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev up0 nud permanent
ip -6 neigh add 2001:db8::1 lladdr 02:00:00:00:00:01 dev up0 nud permanent router; ip neigh add 10.0.9.9 lladdr 02:00:00:00:00:09 dev cali1 nud permanent`)
	const learned = "for n in 20,stale, 21,permanent,extern_learn; do IFS=,; set -- $n; IFS=' '; ip neigh %s 10.0.0.$1 lladdr 02:00:00:00:00:14 dev up0 nud $2 $3; done"
	look := func(link string) []string {
		return lines(ns.Run("sh", "-ec", "ip neigh show nud permanent dev "+link+" | sort"))
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		before := look("up0")
		ns.Run("sh", "-ec", fmt.Sprintf(learned, "add"))
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", fmt.Sprintf(learned, "del")+`; ip link set up0 down; ip link set up0 up; ip neigh flush dev cali1 nud permanent
ip neigh replace 10.0.0.1 lladdr 02:00:00:00:00:66 dev up0 nud permanent; ip neigh add 10.0.0.8 lladdr 02:00:00:00:00:66 dev up0 nud permanent
ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev up0 nud permanent protocol bird`)
		var earlier State // as an earlier release recorded it
		data, err := json.Marshal(was)
		ok(t, err)
		ok(t, json.Unmarshal([]byte(strings.Replace(string(data), `"neighbours":`, `"others":`, 1)), &earlier))
		written := look("up0")
		ok(t, h.RemoveAdded(ctx, earlier))
		ok(t, h.Restore(ctx, earlier, Made{}))
		if diff := cmp.Diff(written, look("up0")); diff != "" {
			t.Errorf("by a journal of an earlier release (-before +after):\n%s", diff)
		}
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.Restore(ctx, was, Made{}))
			after := look("up0")
			if diff := cmp.Diff(before, lines(strings.Join(after, "\n"), "bird")); diff != "" || len(after) != len(before)+1 {
				t.Errorf("not as before beside the daemon's (-before +after):\n%s\n%q", diff, after)
			}
		}
		if left := lines(ns.Run("ip", "neigh", "show", "to", "10.0.0.20/31")); len(left) > 0 {
			t.Errorf("what was learned: %q", left)
		}
		if left := look("cali1"); len(left) > 0 {
			t.Errorf("on a link of Kubernetes: %q", left)
		}
	})
}

// An undo restores proxy entries, and the permanent entries of a bridge or a VXLAN. It removes
// those that a program added. What a VXLAN learned stays, and so does what a network of Kubernetes
// has. The lines that keep it: neighbours.go, listEntries and restoreNeighbours.
func TestRestoreBringsEntriesBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add br0 type bridge; ip link add up0 type veth peer name up1; ip link set up0 up master br0
for l in vx0 vxlan-v6.calico; do ip link add $l type vxlan id ${#l} dstport 4789; ip link set $l up; done
ip neigh add proxy 192.0.2.1 dev up0; ip -6 neigh add proxy 2001:db8::7 dev up0
bridge fdb add 02:00:00:00:00:01 dev up0 master static
for l in vx0 vxlan-v6.calico; do for n in 1 2; do bridge fdb append 00:00:00:00:00:00 dev $l dst 192.0.2.$n; bridge fdb add 02:00:00:00:01:0$n dev $l dst 192.0.2.$n; done; done`)
	look := func() []string {
		text := ns.Run("sh", "-ec", "ip neigh show proxy | sort -u; bridge fdb show dev vx0; bridge fdb show dev up0; bridge fdb show dev vxlan-v6.calico | sed 's/^/vxlan-v6.calico /'")
		out := lines(text, "33:33:", "01:00:5e:")
		slices.Sort(out)
		return out
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", `ip neigh del proxy 192.0.2.1 dev up0; ip -6 neigh del proxy 2001:db8::7 dev up0; ip neigh add proxy 192.0.2.9 dev up0
bridge fdb del 00:00:00:00:00:00 dev vx0 dst 192.0.2.1; bridge fdb replace 02:00:00:00:01:01 dev vx0 dst 192.0.2.9; bridge fdb add 02:00:00:00:01:09 dev vx0 dst 192.0.2.9
bridge fdb del 02:00:00:00:00:01 dev up0 master; bridge fdb add 02:00:00:00:00:09 dev up0 master static`)
		if cmp.Equal(before, look()) {
			t.Fatal("nothing was changed")
		}
		ns.Run("sh", "-ec", "bridge fdb add 02:00:00:00:01:07 dev vx0 dst 192.0.2.7 dynamic; bridge fdb del 02:00:00:00:01:02 dev vxlan-v6.calico")
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.Restore(ctx, was, Made{}))
			after := look()
			want := lines(strings.Join(before, "\n"), "vxlan-v6.calico 02:00:00:00:01:02")
			if diff := cmp.Diff(want, lines(strings.Join(after, "\n"), "02:00:00:00:01:07")); diff != "" || len(after) != len(want)+1 {
				t.Errorf("not as before beside what was learned (-before +after):\n%s", diff)
			}
		}
	})
}
