package tasks

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// Chains that drop by policy get the rules. firewalld's table for its reload does not: firewalld
// removes it at once. The line that keeps it: pkg/host/firewall/forward_nft.go, nftForward
// (reloadTable).
func TestForwardAccept(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		v4 := ForwardAccept{Link: "cbr0", Families: []int{4}}
		both := ForwardAccept{Link: "cbr0", Families: []int{4, 6}}
		wantLines(t, plan(t, both, h.Live.View())) // no chain drops

		ns.Run("iptables-nft", "-P", "FORWARD", "DROP")
		ns.Run("ip6tables-nft", "-P", "FORWARD", "DROP")
		ns.Run("nft", "add table inet fw; add chain inet fw f { type filter hook forward priority 5; policy drop; };"+
			"add table inet fine; add chain inet fine f { type filter hook forward priority 5; policy accept; };"+
			"add table inet in; add chain inet in f { type filter hook input priority 5; policy drop; };"+
			"add table inet firewalld_policy_drop; add chain inet firewalld_policy_drop filter_forward { type filter hook forward priority 10; policy drop; }")
		wantLines(t, converge(t, h, v4), "+ forward:cbr0, ip filter FORWARD policy drop→accepts cbr0, inet fw f policy drop→accepts cbr0")
		wantLines(t, converge(t, h, both), "+ forward:cbr0, ip6 filter FORWARD policy drop→accepts cbr0")
		if got := ns.Run("nft", "list", "ruleset"); strings.Count(got, `accept comment "netwright"`) != 6 {
			t.Errorf("want two rules in each of three chains:\n%s", got)
		}
		if err := h.Firewall.DelForwardAccept(t.Context(), "cbr0"); err != nil {
			t.Fatal(err)
		}
		if got := ns.Run("nft", "list", "ruleset"); strings.Contains(got, "netwright") {
			t.Errorf("left behind:\n%s", got)
		}
	})
}

// Each change of an nf_tables chain causes an event. A change of a chain of ip_tables causes none.
// The line that keeps it: kind_columns.go, forwardNotifies.
func TestForwardAcceptIsPolledForTheTablesOfIPTablesAlone(t *testing.T) {
	needs.Tool(t, "iptables-legacy", "ip6tables-legacy")
	for _, program := range []string{"iptables-legacy", "ip6tables-legacy"} {
		ns := netns.New(t)
		ns.Do(func() {
			polled := func(lost map[watch.Source]error) bool {
				return NeedsPolling(ForwardAccept{Link: "cbr0", Families: []int{4}}, lost)
			}
			ns.Run("iptables-nft", "-P", "FORWARD", "DROP")
			if polled(nil) || !polled(map[watch.Source]error{watch.NFT: host.ErrNotExist}) {
				t.Error("chains of nf_tables alone are polled, or not polled where they are not heard")
			}
			ns.Run(program, "-P", "FORWARD", "DROP")
			if !polled(nil) {
				t.Errorf("what %s makes is not polled", program)
			}
		})
	}
}
