package firewall

import (
	"encoding/binary"
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

// A table that is shorter than its entries say is an error. The line that keeps it:
// iptables_legacy_read.go, entry.
func TestALegacyTableThatIsCutOff(t *testing.T) {
	for _, f := range legacyFamilies {
		blob := make([]byte, f.size+legacyTargetHead)
		binary.NativeEndian.PutUint16(blob[f.next:], uint16(f.size))
		binary.NativeEndian.PutUint16(blob[f.next+2:], uint16(len(blob)))
		if all, err := f.entries(blob); err != nil || len(all) != 1 {
			t.Errorf("%s: %d entries, %v", f.name, len(all), err)
		}
		for _, at := range []int{-1, 1, len(blob)} {
			if _, err := f.entry(blob, at); err == nil {
				t.Errorf("%s: an entry at %d of %d bytes", f.name, at, len(blob))
			}
		}
		for n := 1; n < len(blob); n++ {
			if _, err := f.entries(blob[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are a table", f.name, n, len(blob))
			}
		}
	}
}
