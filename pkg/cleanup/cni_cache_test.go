package cleanup

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host"
)

// Two networks are called k8s-pod-network. Each finds what its own plugin left, and what cannot be
// told apart.
func TestCachesGoByTheTypeOfPlugin(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, "/var/lib/cni", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := func(conf string) string {
		return fmt.Sprintf(`{"kind":"cniCacheV1","config":%q}`, base64.StdEncoding.EncodeToString([]byte(conf)))
	}
	write("results/k8s-pod-network-c1-eth0", cache(`{"name":"k8s-pod-network","plugins":[{"type":"calico"},{"type":"portmap"}]}`))
	write("results/k8s-pod-network-c2-eth0", cache(`{"name":"k8s-pod-network","plugins":[{"type":"ptp"},{"type":"portmap"}]}`))
	write("results/k8s-pod-network-c3-eth0", cache(`{"name":"k8s-pod-network","type":"calico"}`))
	write("results/k8s-pod-network-c4-eth0", "{torn")
	write("networks/k8s-pod-network/10.0.0.7", "c2\r\neth0")
	write("networks/k8s-pod-network/lock", "")
	write("networks/shared/10.0.0.8", "c9\r\neth0")
	write("networks/shared/10.0.0.9/x", "") // a directory
	v, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	const r = "results/k8s-pod-network-"
	for _, c := range []struct{ types, want []string }{
		{[]string{"calico"}, []string{r + "c1-eth0", r + "c3-eth0", r + "c4-eth0", "networks/shared"}},
		{[]string{"ptp", "bridge"}, []string{r + "c2-eth0", r + "c4-eth0", "networks/k8s-pod-network", "networks/shared"}},
		{nil, []string{r + "c1-eth0", r + "c2-eth0", r + "c3-eth0", r + "c4-eth0", "networks/k8s-pod-network", "networks/shared"}},
	} {
		l := Residue{Types: c.types, Files: []string{cniResults + "/k8s-pod-network-*", cniNetworks + "/k8s-pod-network/", cniNetworks + "/shared/"}}
		found, err := Selection{Residue: l}.Find(t.Context(), v.View())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			rel, err := filepath.Rel("/var/lib/cni", f.Key.Name())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.types, diff)
		}
	}
}
