package firewall

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// An undo takes back what a program did to ip_tables. What kube-proxy did meanwhile stays. The
// lines that keep it: ruleset_restore_legacy.go, guarded and legacyBatch.
func TestRestoreLegacyTables(t *testing.T) {
	needs.Tool(t, "iptables-legacy")
	ns := netns.New(t)
	look := func() string {
		return changing.ReplaceAllString(ns.Run("sh", "-c", "iptables-legacy-save -t filter"), "")
	}
	ns.Run("sh", "-ec", `iptables-legacy -N MINE; iptables-legacy -A MINE -j RETURN; iptables-legacy -P FORWARD DROP
iptables-legacy -A INPUT -p tcp -m tcp --dport 22 -m comment --comment "a  b -j DROP" -j ACCEPT; iptables-legacy -A INPUT -j MINE`)
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		before := look()
		was, err := h.LegacyTables(ctx)
		noError(t, err)
		for _, does := range []string{
			"iptables-legacy -I INPUT -j DROP", "iptables-legacy -P OUTPUT DROP", "iptables-legacy -F; iptables-legacy -X; iptables-legacy -P INPUT DROP",
			"iptables-legacy -N shut; iptables-legacy -A shut -j DROP; iptables-legacy -A INPUT -j shut", "iptables-legacy -F MINE",
		} {
			ns.Run("sh", "-ec", does)
			left, err := h.RestoreLegacyTables(ctx, was)
			noError(t, err)
			if diff := cmp.Diff(before, look()); diff != "" || len(left) > 0 {
				t.Fatalf("%s: not as before, left %q (-before +after):\n%s", does, left, diff)
			}
		}
		ns.Run("sh", "-ec", "iptables-legacy -N KUBE-X; iptables-legacy -A KUBE-X -j DROP; iptables-legacy -A INPUT -j KUBE-X; iptables-legacy -A FORWARD -i br-0123456789ab ! -o br-0123456789ab -j ACCEPT")
		theirs := look()
		_, err = h.RestoreLegacyTables(ctx, was)
		noError(t, err)
		if diff := cmp.Diff(theirs, look()); diff != "" {
			t.Errorf("what others did (-theirs +after):\n%s", diff)
		}
	})
}
