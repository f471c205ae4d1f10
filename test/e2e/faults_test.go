package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// Each fault causes one clear error. The agent makes everything that does not need the broken part,
// and no file is half written.
func TestFaults(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	good := bridgeStore(t)
	goodDoc, err := os.ReadFile(good.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	evil := tarball(t, map[string]string{"./bridge": "x", "../../../etc/evil": "x"})
	cut, cutSum := truncated(t)
	n := node.NewFabric(t).Node(t, options(t, good, "node-1", "10.77.0.11", node.Options{}))
	other := strings.Repeat("0a", 32)

	for _, c := range []struct {
		name  string
		spec  string            // replaces the cluster's spec
		files map[string]string // added to the store
		setup string            // runs in the node before
		undo  string            // runs in the node after
		key   string            // the key that fails
		says  []string
	}{
		{name: "missing asset", spec: bridgeSpec + assetSpec(other, "assets/nowhere.tgz"), key: "file:/opt/cni/bin", says: []string{"nowhere.tgz"}},
		{name: "wrong sha256", spec: bridgeSpec + assetSpec(other, "assets/small.tgz"), files: map[string]string{"assets/small.tgz": evil},
			key: "file:/opt/cni/bin", says: []string{other, sumOf(evil)}},
		{name: "truncated archive", spec: bridgeSpec + assetSpec(cutSum, "assets/cut.tgz"), files: map[string]string{"assets/cut.tgz": cut},
			key: "file:/opt/cni/bin", says: []string{"cut.tgz"}},
		{name: "archive that leaves its directory", spec: bridgeSpec + assetSpec(sumOf(evil), "assets/evil.tgz"), files: map[string]string{"assets/evil.tgz": evil},
			key: "file:/opt/cni/bin", says: []string{"../../../etc/evil"}},
		{name: "directory where a file goes", setup: "mkdir -p /etc/sysctl.d/99-netwright.conf", undo: "rmdir /etc/sysctl.d/99-netwright.conf",
			key: "file:/etc/sysctl.d/99-netwright.conf", says: []string{"directory"}},
		{name: "read-only sysctl", setup: "mount --bind /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/ip_forward && mount -o remount,bind,ro /proc/sys/net/ipv4/ip_forward",
			undo: "umount /proc/sys/net/ipv4/ip_forward", key: "sysctl:net.ipv4.ip_forward", says: []string{"read-only"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.spec == "" {
				c.spec = strings.TrimPrefix(string(goodDoc), document("Cluster", cluster, ""))
			}
			dir := "/srv/netwright/" + cluster
			n.Write(dir+"/cluster.yaml", document("Cluster", cluster, c.spec), 0o644)
			for path, content := range c.files {
				n.Write(dir+"/"+path, content, 0o644)
			}
			n.Shell(ctx, "rm -rf /opt/cni/bin /var/lib/netwright /etc/modules-load.d/netwright.conf /etc/sysctl.d/99-netwright.conf; sysctl -qw net.ipv4.ip_forward=0; "+c.setup)
			t.Cleanup(func() { n.Shell(ctx, "true; "+c.undo) })

			p := planOf(t, n.Run(ctx, "netwright", "--once", "-o", "json"), 1)
			failed := messages(p, report.Failed)
			if p.Summary.Failed != 1 || !strings.Contains(failed, c.key) {
				t.Errorf("failed: %d\n%s\nwant one, of %s", p.Summary.Failed, failed, c.key)
			}
			for _, want := range c.says {
				if !strings.Contains(failed, want) {
					t.Errorf("the error does not say %q:\n%s", want, failed)
				}
			}
			n.Must(ctx, "test", "-s", "/etc/modules-load.d/netwright.conf") // a branch of the graph without the faults
			if out := n.Shell(ctx, "ls -A /opt/cni/bin 2>/dev/null || true"); strings.Contains(c.key, "/opt/cni/bin") && out != "" {
				t.Errorf("half an archive is installed:\n%s", out)
			}
			if out := n.Shell(ctx, "find / -xdev -name '*.netwright-*' 2>/dev/null || true; ls /etc/evil 2>/dev/null || true"); out != "" {
				t.Errorf("left behind:\n%s", out)
			}
		})
	}
	// Without the faults the agent makes everything right.
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", string(goodDoc), 0o644)
	n.Must(ctx, "netwright", "--once")
	checkBridgeNode(t, n)
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func tarball(t *testing.T, members map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, content := range members {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// truncated returns an archive that ends in the middle, and the hash of these bytes. So the hash is
// right and the content is not.
func truncated(t *testing.T) (content, sum string) {
	t.Helper()
	members := map[string]string{}
	for _, name := range []string{"bridge", "host-local", "portmap", "loopback"} {
		members["./"+name] = strings.Repeat(name+" is no program\n", 10_000)
	}
	whole := tarball(t, members)
	content = whole[:len(whole)/2]
	return content, sumOf(content)
}
