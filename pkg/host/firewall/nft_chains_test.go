package firewall

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// Several owners share a table. Rules are found by their comments and removed one by one.
func TestRulesOfATableGoByTheirComments(t *testing.T) {
	needs.Tool(t, "nft")
	ns := netns.New(t)
	for _, line := range []string{"add table ip shared", "add chain ip shared ports", "add chain ip shared first", "add table ip6 shared",
		`add rule ip shared ports tcp dport 80 dnat to 10.0.0.2:80 comment "a1"`, `add rule ip shared ports tcp dport 81 dnat to 10.0.0.3:80 comment "b2"`,
		"add rule ip shared first jump ports"} {
		ns.Run("nft", line)
	}
	ns.Do(func() {
		h := openTest()
		chains, err := h.NFTChains(t.Context(), "ip", "shared")
		noError(t, err)
		var got []string
		gone := IPTRemoval{}
		for _, c := range chains {
			for _, r := range c.Rules {
				got = append(got, c.Name+" "+r.String())
				if slices.Contains(r.Comments, "a1") {
					gone.Chain, gone.Rules = c, append(gone.Rules, r)
				}
			}
		}
		slices.Sort(got)
		if want := []string{"first -j ports", `ports --comment "a1"`, `ports --comment "b2"`}; !slices.Equal(got, want) {
			t.Errorf("read %q, want %q", got, want)
		}
		noError(t, h.RemoveIPT(t.Context(), []IPTRemoval{gone}))
		none, err := h.NFTChains(t.Context(), "ip", "nosuch")
		noError(t, err)
		if len(none) != 0 {
			t.Errorf("a table that is not there has %v", none)
		}
	})
	left := ns.Run("nft", "list table ip shared")
	if strings.Contains(left, "a1") || !strings.Contains(left, "b2") || !strings.Contains(left, "jump ports") {
		t.Errorf("left:\n%s", left)
	}
}

// kube-proxy has three chains for each service. To list them takes one buffer and the results, and
// no buffer for each part: the kernel sends small parts to a client that reads little at a time.
func TestChainsAllocateLittle(t *testing.T) {
	needs.Tool(t, "nft")
	const chains, runs, most = 1000, 10, 400 // bytes for each; 550 with the library's buffers
	ns := netns.New(t)
	var rules strings.Builder
	rules.WriteString("table ip nat {\n")
	for i := range chains {
		fmt.Fprintf(&rules, "chain KUBE-SVC-%016d { }\n", i)
	}
	ns.Run("nft", rules.String()+"}")
	ns.Do(func() {
		read := func() (n int) {
			list, err := readNFT(t.Context(), openTest().Reader, "chains", func(s nftSocket) ([]rawChain, error) { return s.chains(2) })
			noError(t, err)
			return len(list)
		}
		if n := read(); n != chains {
			t.Fatalf("%d chains, want %d", n, chains)
		}
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		for range runs {
			read()
		}
		runtime.ReadMemStats(&is)
		if each := (is.TotalAlloc - was.TotalAlloc) / runs / chains; each > most {
			t.Errorf("a chain takes %d bytes, want at most %d", each, most)
		}
	})
}
