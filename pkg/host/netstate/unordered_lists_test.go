package netstate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// An undo restores permanent multicast groups of a bridge's ports, also after the port left its
// bridge, and removes those that a program added. Groups of Kubernetes, of a daemon that marks its
// own, and groups that the bridge learned stay. What is not restored is reported. A journal of an
// earlier release does not have the former groups. The lines that keep it: multicast_groups.go,
// listGroups and groupMessage; unordered_lists.go, restoreTables; remove_added.go, addedSince and
// Lost.
func TestRestoreBringsMulticastGroupsBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add br0 type bridge mcast_igmp_version 3; ip link set br0 up
for l in a b cali; do ip link add ${l}0 type veth peer name ${l}1; ip link set ${l}0 master br0; ip link set ${l}0 up; ip link set ${l}1 up; done
bridge mdb add dev br0 port a0 grp 239.1.1.1 permanent; bridge mdb add dev br0 port a0 grp 239.1.1.2 src 10.0.0.1 permanent
bridge mdb add dev br0 port b0 grp ff05::7 permanent; bridge mdb add dev br0 port b0 grp 01:02:00:00:00:07 permanent
bridge mdb add dev br0 port br0 grp 01:02:00:00:00:07 permanent; bridge mdb add dev br0 port cali0 grp 239.1.1.1 permanent`)
	look := func() (out []string) {
		for _, l := range lines(ns.Run("bridge", "-d", "mdb", "show"), "port cali0") {
			if strings.Contains(l, "permanent") {
				out = append(out, l)
			}
		}
		slices.Sort(out)
		return out
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		index := func(name string) byte {
			l, err := h.net.Link(ctx, name)
			ok(t, err)
			return byte(l.Index)
		}
		// iproute2 before 6.2 cannot make these: a group with all sources except one, and a group
		// of a daemon.
		group := func(last, by byte, more ...byte) []byte {
			entry := make([]byte, groupEntry)
			copy(entry[8:], []byte{239, 1, 2, last})
			entry[0], entry[4], entry[24] = index("a0"), groupPermanent, 8
			head := []byte{7, 0, 0, 0, index("br0"), 0, 0, 0}
			attributes := []byte{5, 0, takenBy, 0, by, 0, 0, 0}
			return append(append(head, append([]byte{groupEntry + 4, 0, groupSet, 0}, entry...)...),
				sys.NestedAttribute(groupAttributes, attributes, more)...)
		}
		mdb := tables[slices.IndexFunc(tables, func(t table) bool { return t.command == "bridge mdb" })]
		source := []byte{8, 0, 1, 0, 10, 0, 0, 9}
		ok(t, changeEntry(mdb.add, mdb.flags, group(1, 0x63, append(sys.NestedAttribute(takenList, sys.NestedAttribute(1, source)), 5, 0, takenMode, 0, 0, 0, 0, 0)...)))
		before := look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		var earlier State
		data, err := json.Marshal(was)
		ok(t, err)
		ok(t, json.Unmarshal([]byte(strings.Replace(string(data), `"tables":`, `"others":`, 1)), &earlier))
		for _, change := range []string{
			"ip link set a0 nomaster", "ip link set br0 type bridge mcast_snooping 0; ip link set b0 nomaster",
			"bridge mdb del dev br0 port a0 grp 239.1.1.2 src 10.0.0.1; bridge mdb add dev br0 port a0 grp 239.1.1.2 src 10.0.0.2 permanent",
			"bridge mdb del dev br0 port br0 grp 01:02:00:00:00:07; bridge mdb add dev br0 port b0 grp 239.1.1.7 permanent",
			"bridge mdb add dev br0 port a0 grp 239.1.1.8",
		} {
			ns.Run("sh", "-ec", change)
			changed := look()
			ok(t, h.RemoveAdded(ctx, earlier))
			if diff := cmp.Diff(changed, look()); diff != "" {
				t.Errorf("%s: by a journal of an earlier release (-before +after):\n%s", change, diff)
			}
			for range 2 {
				ok(t, h.RemoveAdded(ctx, was))
				ok(t, h.Restore(ctx, was, Made{}))
				if diff := cmp.Diff(before, look()); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
				}
			}
		}
		ok(t, changeEntry(mdb.add, mdb.flags, group(2, 186)))
		ok(t, h.RemoveAdded(ctx, was))
		if after := look(); len(after) != len(before)+1 {
			t.Errorf("of a daemon: %q", after)
		}
		ns.Run("bridge", "mdb", "del", "dev", "br0", "port", "b0", "grp", "ff05::7")
		lost, err := h.Lost(ctx, was)
		ok(t, err)
		if !cmp.Equal(lost, []string{"entries of link b0 (bridge mdb)"}) {
			t.Errorf("lost: %q", lost)
		}
	})
}
