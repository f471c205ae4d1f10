package torture

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/netwright/netwright/test/program"
)

const cluster = "torture.example.com"

// agent builds the released program; with tags it builds another one.
func agent(t testing.TB, tags ...string) string {
	t.Helper()
	return program.Agent(t, tags...)
}

// documents has the documents of a state store, by their path below the cluster's directory.
type documents map[string]string

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: %s\nmetadata:\n  name: %s\nspec:\n%s", kind, name, spec)
}

// with returns a copy with more documents.
func (d documents) with(more documents) documents {
	out := maps.Clone(d)
	maps.Copy(out, more)
	return out
}

// write makes a plain directory store of the documents.
func (d documents) write(t testing.TB, dir string) {
	t.Helper()
	for name, content := range d {
		path := filepath.Join(dir, cluster, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// plugins returns an archive with the programs of a release. It is small, so that hundreds of runs
// are quick, and its content differs in each release.
func plugins(t testing.TB, release string) (name, content, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, member := range []string{"bridge", "host-local", "loopback", "portmap"} {
		body := "#!/bin/sh\n# " + member + " " + release + "\n"
		for sum := sha256.Sum256([]byte(body)); len(body) < 60<<10; sum = sha256.Sum256(sum[:]) {
			body += "# " + hex.EncodeToString(sum[:]) + "\n"
		}
		if err := w.WriteHeader(&tar.Header{Name: "./" + member, Mode: 0o755, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return "assets/plugins-" + release + ".tgz", b.String(), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
}

// nodeDocuments returns a cluster of two nodes with this spec, and with the plugins of a release.
func nodeDocuments(t testing.TB, release, spec string) documents {
	t.Helper()
	name, content, sum := plugins(t, release)
	assets := fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      %s:\n        sha256: %s\n        urls: [%s]\n", runtime.GOARCH, sum, name)
	node := func(address, cidr string) string {
		return fmt.Sprintf("  nodeGroup: nodes\n  address: %s\n  podCIDRs: [%s]\n", address, cidr)
	}
	return documents{
		name: content, "cluster.yaml": document("Cluster", cluster, spec+assets), "nodegroups/nodes.yaml": document("NodeGroup", "nodes", "  role: Node\n"),
		"nodes/node-1.yaml": document("Node", "node-1", node("10.77.0.11", "10.244.1.0/24")),
		"nodes/node-2.yaml": document("Node", "node-2", node("10.77.0.12", "10.244.2.0/24")),
	}
}

const baseSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
`

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
