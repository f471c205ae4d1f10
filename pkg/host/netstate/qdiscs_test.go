package netstate

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// An undo restores a link's queueing with its options, if nobody had added something below its
// root. Queueing that needs classes is reported. The lines that keep it: qdiscs.go, restoreQdiscs.
func TestRestoreBringsQdiscsBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `for l in up limit many none class; do ip link add ${l}0 numtxqueues 2 type veth peer name ${l}1; ip link set ${l}0 up; done
tc qdisc add dev up0 root handle 5: tbf rate 10mbit burst 32k latency 50ms; tc qdisc add dev limit0 root pfifo limit 7; tc qdisc add dev many0 root mq
tc qdisc add dev class0 root handle 1: htb default 1; tc class add dev class0 parent 1: classid 1:1 htb rate 5mbit`)
	handles := regexp.MustCompile(`qdisc (\w+) [0-9a-f]+:|parent [0-9a-f]+:|refcnt \d+`) // the kernel sets these
	look := func() string { return handles.ReplaceAllString(ns.Run("tc", "qdisc"), "$1") }
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", `tc qdisc del dev up0 root; tc qdisc change dev limit0 root pfifo limit 9; tc qdisc del dev many0 root
tc qdisc add dev none0 root handle 1: htb default 1; tc class add dev none0 parent 1: classid 1:1 htb rate 5mbit`)
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Errorf("not as before (-before +after):\n%s", diff)
			}
		}
		ns.Run("tc", "qdisc", "del", "dev", "class0", "root")
		ok(t, h.Restore(ctx, was, Made{}))
		lost, err := h.Lost(ctx, was)
		ok(t, err)
		if !cmp.Equal(lost, []string{"queueing of link class0 (tc qdisc)"}) {
			t.Errorf("lost: %q", lost)
		}
	})
}
