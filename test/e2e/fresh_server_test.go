package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// fresh is what a fresh machine needs from the outside, on servers of a fabric.
type fresh struct {
	fabric   *node.Fabric
	mirror   *mirrors
	asked    requests // of the state store
	hold     *held    // it
	dir      string   // where it is published
	userData string
	publish  func()            // the store, as it is now
	files    map[string]string // what the machine's platform brings
}

// storeName is another name of the store's server, for who knows its address.
const storeName = "store.lab"

// serveFresh publishes a cluster, signed, to an HTTPS server, and puts the agent onto a mirror: for
// its node-1.
func serveFresh(t *testing.T, s store) fresh {
	t.Helper()
	p := newPublisher(t)
	published := filepath.Join(p.dir, "published")
	publish := func() { p.run("store", "publish", s.dir, published, "--key", p.key) }
	publish()
	if err := os.CopyFS(filepath.Join(published, cluster, "assets"), os.DirFS(s.path("assets"))); err != nil {
		t.Fatal(err)
	}
	f := fresh{fabric: node.NewFabric(t), publish: publish, hold: &held{}, dir: filepath.Join(published, cluster)}
	f.mirror = serveMirrors(t, f.fabric, map[string][]byte{"/netwright": p.program})
	authority := pki.New(t, "store")
	f.asked = serveStore(t, f.fabric, published, authority.Server("store", node.Gateway4, storeName), f.hold)
	f.files = map[string]string{"/etc/ssl/store.pem": authority.PEM}
	own := filepath.Join(p.dir, "agent.yaml")
	text := fmt.Sprintf("store: https://%s:8443\ncluster: %s\nnode: node-1\nstoreCA: /etc/ssl/store.pem\ntrustedKeys: [%s]\n", node.Gateway4, cluster, p.trusted)
	if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.userData = p.userData("--conf", own)
	return f
}
