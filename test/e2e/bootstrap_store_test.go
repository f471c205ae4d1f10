package e2e

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// A bare machine gets the agent from one server and its documents, signed, from another over TLS.
func TestBootstrapFromHTTPS(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(ctx, agent(t), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("agent %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	s := bridgeStore(t)
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

	f := node.NewFabric(t)
	serveMirrors(t, f, map[string][]byte{"/netwright": program})
	authority := pki.New(t, "store")
	asked := serveStore(t, f, filepath.Join(dir, "published"), authority.Server("store", node.Gateway4))
	own := filepath.Join(dir, "agent.yaml")
	text := fmt.Sprintf("store: https://%s:8443\ncluster: %s\nnode: node-1\nstoreCA: /etc/ssl/store.pem\ntrustedKeys: [%s]\n", node.Gateway4, cluster, strings.Fields(string(pub))[len(strings.Fields(string(pub)))-1])
	if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	n := f.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Files: map[string]string{
		"/etc/ssl/store.pem": authority.PEM,
		"/root/user-data":    run("user-data", "--conf", own, "--url", mirror+"/netwright", "--sha256", fmt.Sprintf("%s=%x", runtime.GOARCH, sha256.Sum256(program))),
	}})
	n.Must(ctx, "/root/user-data")
	n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
	checkBridgeNode(t, n)
	documents := slices.DeleteFunc(asked.take(), func(path string) bool { return strings.Contains(path, "/assets/") })
	if len(documents) > 2 {
		t.Errorf("the documents took more than two requests: %q", documents)
	}
}

// requests are the paths that a server was asked for.
type requests chan string

func (r requests) take() (out []string) {
	for {
		select {
		case path := <-r:
			out = append(out, path)
		default:
			return out
		}
	}
}

// serveStore serves a directory over TLS beyond the nodes' default route.
func serveStore(t testing.TB, f *node.Fabric, dir string, pair pki.Pair) requests {
	t.Helper()
	certificate, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	var listener net.Listener
	err = f.Do(func() (err error) {
		listener, err = net.Listen("tcp", node.Gateway4+":8443")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	asked, files := make(requests, 1000), http.FileServer(http.Dir(dir))
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Path
			files.ServeHTTP(w, r)
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with Close
	t.Cleanup(func() { server.Close() })
	return asked
}
