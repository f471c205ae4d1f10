package kernel

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// The keys of the network are those that a walk over /proc/sys finds, also those of names with
// dots.
func TestNetSysctls(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "v0.100", "type", "veth", "peer", "name", "v1")
	ns.Do(func() {
		want := map[string]string{}
		err := filepath.WalkDir("/proc/sys/net", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			key := swapSeparators(strings.TrimPrefix(path, "/proc/sys/"))
			info, err := e.Info()
			if err != nil || info.Mode()&0o600 != 0o600 || ScopeOf(key) == ScopeHost {
				return err
			}
			if value, err := os.ReadFile(path); err == nil {
				want[key] = sys.FoldSpace(string(value))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got := NewWriter(Open(true), Options{}).NetSysctls(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 300 || got["net.ipv4.conf.v0/100.forwarding"] == "" {
			t.Errorf("%d keys:\n%s", len(got), diff)
		}
	})
}

// Settings that links share are read once, and no link gets a wrong value by that. The test changes
// each key of one link in turn, between links with the same settings. This also shows that
// rtnetlink reports every key that [inSettings] names.
func TestLinksOfTheSameSettings(t *testing.T) {
	ns := netns.New(t)
	for _, name := range []string{"a", "m", "z"} {
		ns.Run("ip", "link", "add", "name", name, "type", "veth", "peer", "name", name+"peer")
	}
	ns.Do(func() {
		net := rtnl.Open(true)
		defer net.Close()
		plain := NewWriter(Open(true), Options{})
		asked := 0
		shared := NewWriter(Open(true), Options{LinkSettings: func(ctx context.Context) (map[string]string, error) {
			asked++
			return net.LinkSettings(ctx)
		}})
		same := func(after string) {
			t.Helper()
			if diff := cmp.Diff(plain.NetSysctls(t.Context()), shared.NetSysctls(t.Context())); diff != "" {
				t.Errorf("after %s:\n%s", after, diff)
			}
		}
		same("nothing")
		settings, err := net.LinkSettings(t.Context())
		if err != nil || settings["net/ipv6/conf/m"] == "" || settings["net/ipv4/neigh/m"] == "" || settings["net/ipv6/neigh/a"] != settings["net/ipv6/neigh/z"] ||
			settings["net/ipv4/conf/a"] != settings["net/ipv4/conf/z"] || settings["net/ipv6/conf/a"] != settings["net/ipv6/conf/z"] {
			t.Fatalf("%d settings: %v", len(settings), err)
		}
		told := 0
		for key, value := range plain.NetSysctls(t.Context()) {
			parts := strings.Split(key, ".")
			if len(parts) != 5 || parts[3] != "m" {
				continue
			}
			file := "/proc/sys/" + SysctlPath(key)
			for _, other := range []string{"1", "0", "2", "3", "1281", "65534", "fe80::1"} {
				if other != value && os.WriteFile(file, []byte(other), 0) == nil {
					break
				}
			}
			now, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all := shared.NetSysctls(t.Context())
			for _, link := range []string{"a", "m", "z"} { // whichever of them is read first
				key := strings.Join(append(slices.Clone(parts[:3]), link, parts[4]), ".")
				if want, err := os.ReadFile("/proc/sys/" + SysctlPath(key)); err != nil || all[key] != sys.FoldSpace(string(want)) {
					t.Errorf("%s is %q, and told as %q: %v", key, want, all[key], err)
				}
			}
			if sys.FoldSpace(string(now)) == value {
				continue // the kernel accepts no other value
			}
			told++
			if err := os.WriteFile(file, []byte(value), 0); err != nil {
				t.Fatalf("%s: WriteFile returns %v", key, err)
			}
		}
		same("all of one link")
		for i, link := range []string{"a", "m", "z"} { // the mode becomes 2
			if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+link+"/stable_secret", fmt.Appendf(nil, "fe80::%d", i+1), 0); err != nil {
				t.Fatal(err)
			}
		}
		same("a secret of each")
		if secret := shared.NetSysctls(t.Context())["net.ipv6.conf.z.stable_secret"]; !strings.HasSuffix(secret, ":0003") {
			t.Errorf("the secret of a link is told as %q", secret)
		}
		if told < 100 || asked < 200 {
			t.Errorf("%d keys were changed, and links were asked of %d times", told, asked)
		}
	})
}
