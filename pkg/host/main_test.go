package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// testHost opens this machine without its systemd.
func testHost(t *testing.T) *Host {
	t.Helper()
	h, err := Open(context.Background(), Options{Sandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// write writes a file with its parents.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeKernel returns a kernel with these files.
func fakeKernel(t *testing.T, files map[string]string) *kernel.Reader {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"/proc", "/sys/module", "/lib/6.1.0"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range files {
		write(t, dir+path, content)
	}
	return &kernel.Reader{Live: true, Proc: dir + "/proc", Sys: dir + "/sys", Lib: dir + "/lib", Release: "6.1.0"}
}

func noError(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testNetwork returns a host that has only its network, for a test's own namespace.
func testNetwork(t testing.TB) *Host {
	l := &Live{Net: rtnl.Open(true), Firewall: firewall.Open(true)}
	t.Cleanup(func() { _ = l.Net.Close() })
	return &Host{Live: l, Net: rtnl.NewWriter(l.Net, nil, nil), Firewall: firewall.NewWriter(l.Firewall, nil)}
}

// masquerading returns a table of a network.
func masquerading(family string) firewall.Table {
	return firewall.Table{Family: family, Name: "netwright", Chains: []firewall.Chain{
		{Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: 100, Rules: []firewall.NFRule{
			{OIFNot: "cbr0", Verdict: "masquerade fully-random", Comment: "pods to the outside"},
		}},
	}}
}
