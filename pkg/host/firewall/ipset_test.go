package firewall

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

func TestIPSetsAreListedAndDestroyedByName(t *testing.T) {
	needs.Tool(t, "ipset")
	needs.Tool(t, "iptables-nft")
	ns := netns.New(t)
	ns.Run("ipset", "create", "cali40s:abc", "hash:ip")
	ns.Run("ipset", "add", "cali40s:abc", "192.0.2.1")
	ns.Run("ipset", "create", "weave-$*(];|", "list:set")
	ns.Run("ipset", "create", "in-use", "hash:net", "family", "inet6")
	ns.Run("ip6tables-nft", "-A", "INPUT", "-m", "set", "--match-set", "in-use", "src", "-j", "DROP")
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		sets, err := h.IPSets(ctx)
		noError(t, err)
		if diff := cmp.Diff([]string{"cali40s:abc", "in-use", "weave-$*(];|"}, sets); diff != "" {
			t.Errorf("the sets (-want +got):\n%s", diff)
		}
		for range 2 {
			noError(t, h.DelIPSet(ctx, "cali40s:abc"))
			noError(t, h.DelIPSet(ctx, "weave-$*(];|"))
		}
		if err := h.DelIPSet(ctx, "in-use"); err == nil || !strings.Contains(err.Error(), "still uses it") {
			t.Errorf("a set in use: %v", err)
		}
	})
	if got := ns.Run("ipset", "list", "-n"); got != "in-use\n" {
		t.Errorf("left: %q", got)
	}
}

func TestTablesOfEveryFamily(t *testing.T) {
	needs.Tool(t, "nft")
	ns := netns.New(t)
	want := []string{"ip calico", "ip6 calico", "arp calico-arp", "inet kindnet-ipmasq", "bridge other"}
	for _, table := range want {
		ns.Run("nft", "add table "+table)
		ns.Run("nft", "add chain "+table+" c")
	}
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		tables, err := h.Tables(ctx)
		noError(t, err)
		var got []string
		for _, table := range tables {
			got = append(got, table.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tables (-want +got):\n%s", diff)
		}
		for range 2 {
			noError(t, h.DelTable(ctx, "ip", "calico"))
			noError(t, h.DelTable(ctx, "arp", "calico-arp"))
		}
	})
	got := strings.Split(strings.TrimSpace(ns.Run("nft", "list tables")), "\n")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"table bridge other", "table inet kindnet-ipmasq", "table ip6 calico"}, got); diff != "" {
		t.Errorf("the tables (-want +got):\n%s", diff)
	}
}
