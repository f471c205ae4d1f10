package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// fresh has what a new machine needs from servers of a fabric.
type fresh struct {
	fabric   *node.Fabric
	mirror   *mirrors
	asked    requests // requests to the state store
	hold     *held    // holds the state store
	dir      string   // the directory of the published store
	userData string
	publish  func()            // publishes the store as it is now
	files    map[string]string // files of the machine's platform
}

// storeName is another name of the store's server, for clients that know its address.
const storeName = "store.lab"

// serveFresh publishes a cluster, signed, to an HTTPS server, and puts the agent onto a mirror. All
// this is for the cluster's node-1.
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
