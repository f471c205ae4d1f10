package kernel

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// The keys of the network are those that a walk over /proc/sys finds, of names with dots too.
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
		got := NewWriter(Open(true), Options{}).NetSysctls()
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 300 || got["net.ipv4.conf.v0/100.forwarding"] == "" {
			t.Errorf("%d keys:\n%s", len(got), diff)
		}
	})
}
