package rtnl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// readWriter reads and changes the network of a test's own namespace.
type readWriter struct {
	*Reader
	*Writer
}

func openNet(t testing.TB) readWriter {
	n := Open(true)
	t.Cleanup(func() { _ = n.Close() })
	return readWriter{n, NewWriter(n, nil, nil)}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// saysAll fails unless the error has every one of these words.
func saysAll(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestDumpReadsAgainWhenInterrupted(t *testing.T) {
	calls := 0
	got, err := sys.Dump(t.Context(), "links", func() ([]int, error) {
		if calls++; calls < 4 {
			return []int{1}, netlink.ErrDumpInterrupted // incomplete: some are missing
		}
		return []int{1, 2}, nil
	})
	ok(t, err)
	if diff := cmp.Diff([]int{1, 2}, got); diff != "" || calls != 4 {
		t.Errorf("after %d calls: %s", calls, diff)
	}
}

func TestDumpGivesUpAndReturnsNothingTorn(t *testing.T) {
	calls := 0
	got, err := sys.Dump(t.Context(), "links", func() ([]int, error) { calls++; return []int{1}, netlink.ErrDumpInterrupted })
	if got != nil || !errors.Is(err, netlink.ErrDumpInterrupted) || calls != sys.DumpTries {
		t.Errorf("got %v, %v after %d calls", got, err, calls)
	}
}

func TestDumpStopsAtOtherErrorsAndAtTheEndOfTheContext(t *testing.T) {
	calls := 0
	_, err := sys.Dump(t.Context(), "links", func() ([]int, error) { calls++; return nil, unix.EPERM })
	if !errors.Is(err, unix.EPERM) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	cause := errors.New("the pass is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	calls = 0
	_, err = sys.Dump(ctx, "links", func() ([]int, error) {
		calls++
		cancel(cause)
		return nil, netlink.ErrDumpInterrupted
	})
	if !errors.Is(err, cause) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestNoLiveNetworkInAnImage(t *testing.T) {
	n := Open(false)
	_, err := n.Links(t.Context())
	if !errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("Links: %v", err)
	}
}

func TestLinksAsIPShowsThem(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "br9", "type", "bridge")
	ns.Run("ip", "link", "add", "v0", "mtu", "1400", "type", "veth", "peer", "name", "v1")
	ns.Run("ip", "link", "set", "v0", "master", "br9", "up", "alias", "to nowhere", "promisc", "on")
	ns.Do(func() {
		h := openNet(t)
		links, err := h.Links(t.Context())
		ok(t, err)
		byName := map[string]Link{}
		for _, l := range links {
			byName[l.Name] = l
		}
		for _, want := range ns.IPJSON("link") {
			got, found := byName[want["ifname"].(string)]
			if !found || got.MTU != int(want["mtu"].(float64)) || got.Index != int(want["ifindex"].(float64)) || got.MAC != want["address"] && !got.Loopback {
				t.Errorf("link %v: got %+v", want, got)
			}
			one, err := h.Link(t.Context(), got.Name)
			ok(t, err)
			if diff := cmp.Diff(got, one); diff != "" {
				t.Errorf("one and all differ:\n%s", diff)
			}
		}
		want := Link{Name: "v0", Kind: "veth", MTU: 1400, Up: true, Master: "br9", Alias: "to nowhere", Promisc: true, Flags: unix.IFF_UP | unix.IFF_BROADCAST | unix.IFF_PROMISC | unix.IFF_MULTICAST}
		if diff := cmp.Diff(want, byName["v0"], cmpopts.IgnoreFields(Link{}, "Index", "MAC")); diff != "" {
			t.Errorf("v0:\n%s", diff)
		}
		if !byName["lo"].Loopback || byName["lo"].Physical {
			t.Errorf("lo %+v", byName["lo"])
		}
		if _, err := h.Link(t.Context(), "nowhere0"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("absent link: %v", err)
		}
	})
}

func TestBridgeKeepsItsMTUWhenAPortHasLess(t *testing.T) {
	for _, mtu := range []int{1500, 1450} { // the kernel's default too
		ns := netns.New(t)
		ns.Do(func() {
			ok(t, openNet(t).AddLink(t.Context(), Link{Name: "cbr0", Kind: "bridge", MTU: mtu}))
		})
		ns.Run("ip", "link", "add", "v0", "mtu", "1300", "type", "veth", "peer", "name", "v1")
		ns.Run("ip", "link", "set", "v0", "master", "cbr0")
		if got := int(ns.IPJSON("link", "show", "cbr0")[0]["mtu"].(float64)); got != mtu {
			t.Errorf("MTU %d became %d with a port of 1300", mtu, got)
		}
	}
}

func TestAddSetDelLink(t *testing.T) {
	ns := netns.New(t)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		ok(t, h.AddLink(ctx, Link{Name: "cbr0", Kind: "bridge", MTU: 1450, MAC: "0a:58:0a:00:00:01"}))
		ok(t, h.SetLink(ctx, Link{Name: "cbr0", Up: true}))
		got := ns.IPJSON("link", "show", "cbr0")[0]
		info := got["linkinfo"].(map[string]any)
		if got["mtu"] != 1450.0 || got["address"] != "0a:58:0a:00:00:01" || !strings.Contains(ns.Run("ip", "link", "show", "cbr0"), ",UP") || info["info_kind"] != "bridge" {
			t.Errorf("cbr0 is %v", got)
		}
		if err := h.AddLink(ctx, Link{Name: "cbr0", Kind: "bridge"}); !errors.Is(err, unix.EEXIST) {
			t.Errorf("made twice: %v", err)
		}
		saysAll(t, h.AddLink(ctx, Link{Name: "x0", Kind: "tunnel9"}), "x0", "tunnel9")
		if err := h.AddLink(ctx, Link{Name: "x0", Kind: "bridge", MTU: 10}); err == nil {
			t.Error("MTU 10 was taken")
		}
		if _, err := h.Link(ctx, "x0"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a link that could not be set was left behind: %v", err)
		}
		ok(t, h.DelLink(ctx, "cbr0"))
		ok(t, h.DelLink(ctx, "cbr0"))
	})
	if n := len(ns.IPJSON("link")); n != 1 {
		t.Errorf("%d links are left, want lo alone", n)
	}
}

func TestDelLinkRefusesWhatCutsTheNodeOff(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
	ns.Run("ip", "addr", "add", "192.0.2.2/24", "dev", "up0")
	ns.Run("ip", "link", "set", "up0", "up")
	ns.Run("ip", "route", "add", "default", "via", "192.0.2.1")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		saysAll(t, h.DelLink(ctx, "up0"), "up0", "default route")
		saysAll(t, h.DelLink(ctx, "lo"), "lo", "never removed")
		saysAll(t, h.SetLink(ctx, Link{Name: "lo", MTU: 1400}), "lo")
		ups, err := h.Uplinks(ctx)
		ok(t, err)
		if diff := cmp.Diff([]string{"up0"}, ups); diff != "" {
			t.Errorf("the uplinks (-want +got):\n%s", diff)
		}
	})
	ns.Run("ip", "link", "show", "up0")
}

// Addresses are removed all at once, primary or not, of one family or the other. The others stay.
// The line that keeps it: addresses.go, DelAddress (addressMu).
func TestAddressesGoTogetherAndTakeNoOther(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	ns.Run("ip", "link", "set", "cbr0", "up")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		for range 20 {
			var gone, stay []netip.Prefix
			for i := range 8 {
				for _, text := range []string{"10.7.0.%d/24", "10.7.0.%d/25", "fd00:7::%d/64"} {
					p := netip.MustParsePrefix(fmt.Sprintf(text, i+1))
					ok(t, h.AddAddress(ctx, "cbr0", p))
					if i == 5 {
						stay = append(stay, p)
					} else {
						gone = append(gone, p)
					}
				}
			}
			var all sync.WaitGroup
			for _, p := range gone {
				all.Go(func() { ok(t, h.DelAddress(ctx, "cbr0", p)) })
			}
			all.Wait()
			shown := ns.Run("ip", "-o", "addr", "show", "cbr0")
			for _, p := range stay {
				if !strings.Contains(shown, " "+p.String()+" ") {
					t.Fatalf("%s went too:\n%s", p, shown)
				}
			}
			for _, p := range gone {
				if strings.Contains(shown, " "+p.String()+" ") {
					t.Fatalf("%s came back:\n%s", p, shown)
				}
			}
		}
	})
}

func TestAddresses(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	ns.Run("ip", "link", "set", "cbr0", "up")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		v4, v6 := netip.MustParsePrefix("10.7.0.1/24"), netip.MustParsePrefix("fd00:7::1/64")
		for range 2 {
			ok(t, h.AddAddress(ctx, "cbr0", v4))
			ok(t, h.AddAddress(ctx, "cbr0", v6))
		}
		shown := ns.Run("ip", "addr", "show", "cbr0")
		for _, want := range []string{"inet 10.7.0.1/24", "inet6 fd00:7::1/64"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s is not there:\n%s", want, shown)
			}
		}
		if strings.Contains(shown, "fd00:7::1/64 scope global tentative") {
			t.Errorf("the IPv6 address waits for a carrier:\n%s", shown)
		}
		got, err := h.Addresses(ctx, "cbr0")
		ok(t, err)
		want := []Address{{Link: "cbr0", Prefix: v4, Scope: "global", Label: "cbr0"}, {Link: "cbr0", Prefix: v6, Scope: "global"}}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
			cmpopts.IgnoreSliceElements(func(a Address) bool { return a.Scope == "link" })); diff != "" {
			t.Errorf("the addresses (-want +got):\n%s", diff)
		}
		all, err := h.Addresses(ctx, "")
		ok(t, err)
		if len(all) <= len(got) {
			t.Errorf("all addresses: %v", all)
		}
		ok(t, h.DelAddress(ctx, "cbr0", v4))
		ok(t, h.DelAddress(ctx, "cbr0", v4))
		ok(t, h.DelAddress(ctx, "gone0", v4))
		if strings.Contains(ns.Run("ip", "addr", "show", "cbr0"), "10.7.0.1") {
			t.Error("the address is still there")
		}
		if err := h.AddAddress(ctx, "gone0", v4); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("address on an absent link: %v", err)
		}
	})
}
