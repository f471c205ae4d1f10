package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// fresh is what a fresh machine needs from the outside, on servers of a fabric.
type fresh struct {
	fabric   *node.Fabric
	mirror   *mirrors
	asked    requests // of the state store
	userData string
	files    map[string]string // what the machine's platform brings
}

// serveFresh publishes a cluster, signed, to an HTTPS server, and puts the agent onto a mirror: for its node-1.
func serveFresh(t *testing.T, s store) fresh {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), agent(t), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("agent %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("store", "keygen", "--out", filepath.Join(dir, "k"))
	run("store", "publish", s.dir, filepath.Join(dir, "published"), "--key", filepath.Join(dir, "k.key"))
	if err := os.CopyFS(filepath.Join(dir, "published", cluster, "assets"), os.DirFS(s.path("assets"))); err != nil {
		t.Fatal(err)
	}
	pub, err := os.ReadFile(filepath.Join(dir, "k.pub"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(agent(t))
	if err != nil {
		t.Fatal(err)
	}
	f := fresh{fabric: node.NewFabric(t)}
	f.mirror = serveMirrors(t, f.fabric, map[string][]byte{"/netwright": program})
	authority := pki.New(t, "store")
	f.asked = serveStore(t, f.fabric, filepath.Join(dir, "published"), authority.Server("store", node.Gateway4))
	f.files = map[string]string{"/etc/ssl/store.pem": authority.PEM}
	own, key := filepath.Join(dir, "agent.yaml"), strings.Fields(string(pub))
	text := fmt.Sprintf("store: https://%s:8443\ncluster: %s\nnode: node-1\nstoreCA: /etc/ssl/store.pem\ntrustedKeys: [%s]\n", node.Gateway4, cluster, key[len(key)-1])
	if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.userData = run("user-data", "--conf", own, "--url", mirror+"/netwright", "--sha256", fmt.Sprintf("%s=%x", runtime.GOARCH, sha256.Sum256(program)))
	return f
}
