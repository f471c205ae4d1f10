package daemons

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// serve serves at an address of the fabric, which it gets if need be, until the test ends; with TLS
// where the server has a certificate.
func serve(t testing.TB, fabric *node.Fabric, at string, server *http.Server) {
	t.Helper()
	host, _, _ := net.SplitHostPort(at)
	if host != node.Gateway4 {
		if out, err := exec.Command("ip", "-n", filepath.Base(fabric.Netns()), "address", "replace", host+"/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var listener net.Listener
	err := fabric.Do(func() (err error) {
		listener, err = net.Listen("tcp", at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if server.TLSConfig != nil {
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { server.Close() })
}

// macOf is the MAC address of a node's own link.
func macOf(n *node.Node) string { return strings.TrimSpace(n.Read("/sys/class/net/host0/address")) }

// asker is the address of who asks.
func asker(r *http.Request) string {
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	return from
}

// strange answers who has no machine of that address.
func strange(w http.ResponseWriter, r *http.Request) {
	http.Error(w, fmt.Sprintf("no machine has %s", asker(r)), http.StatusForbidden)
}
