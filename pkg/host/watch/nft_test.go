package watch

import (
	"testing"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// The table has changes of nf_tables and the events that they cause. The lines that keep it:
// nft.go, learn and concerns.
func TestNFTWakes(t *testing.T) {
	needs.Tool(t, "nft")
	ns := netns.New(t)
	ns.Run("nft", "add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; }; add table inet fw; add chain inet fw f { type filter hook forward priority 5; }")
	var w *Watcher
	ns.Do(func() {
		w = watching(t, Options{Sandbox: true}, Interest{Tables: []firewall.TableName{{Family: "inet", Name: "netwright"}, {Family: "inet", Name: "fence"}}, Forward: true})
	})
	up := false
	wakes := func(do string) int {
		return fenced(t, w, NFT, "fence", func() { ns.Run("nft", do) }, func() {
			if up = !up; up {
				ns.Run("nft", "add table inet fence")
			} else {
				ns.Run("nft", "delete table inet fence")
			}
		})
	}
	for _, do := range []string{
		"add table inet netwright", "add chain inet netwright x", "add rule inet netwright x accept", "flush table inet netwright", "delete table inet netwright",
		"add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }", "add rule ip filter FORWARD accept", "flush chain ip filter FORWARD",
		"delete table ip filter", "add rule inet fw f accept", "flush chain inet fw f",
		"add chain inet fw later { type filter hook forward priority 6; }", "add rule inet fw later accept", "flush chain inet fw later",
	} {
		if wakes(do) == 0 {
			t.Errorf("%s: nobody woke", do)
		}
	}
	// These belong to others: a table of the same name in another family, and kube-proxy's chains.
	for _, do := range []string{
		"add table ip netwright; add table ip filter; add chain ip filter KUBE-SERVICES", "add rule ip filter KUBE-SERVICES accept",
		"flush chain ip filter KUBE-SERVICES; delete chain ip filter KUBE-SERVICES", "flush table ip netwright",
		"add chain inet fw f-forward; add rule inet fw f-forward accept", "add chain inet fw in { type filter hook input priority 0; }; add rule inet fw in accept",
	} {
		if n := wakes(do); n != 0 {
			t.Errorf("%s: woke %d times", do, n)
		}
	}
	if wakes("add table inet netwright; flush ruleset; add table inet fence") == 0 {
		t.Error("the flush of all woke nobody")
	}
}
