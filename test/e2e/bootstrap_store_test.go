package e2e

import (
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// A bare machine gets the agent from one server, and its signed documents over TLS from another.
// The agent undoes a change after which it cannot reach the store, though the rest of the network
// works. The line that keeps it: pkg/checkpoint/probe/run_probes.go, Attempt (the store).
func TestBootstrapFromHTTPS(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	f := serveFresh(t, s)
	files := map[string]string{"/root/user-data": f.userData}
	maps.Copy(files, f.files)
	n := f.fabric.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Files: files})
	n.Must(ctx, "/root/user-data")
	n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
	checkBridgeNode(t, n)
	documents := slices.DeleteFunc(f.asked.take(), func(path string) bool { return strings.Contains(path, "/assets/") })
	if len(documents) > 2 {
		t.Errorf("the documents took more than two requests: %q", documents)
	}

	n.Shell(ctx, "systemctl stop netwright-agent; echo "+node.Gateway4+" "+storeName+" >>/etc/hosts; "+
		"sed -i s/"+node.Gateway4+"/"+storeName+"/ /etc/netwright/agent.yaml; echo 'probeWindow: 9s' >>/etc/netwright/agent.yaml")
	good, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const look = "cat /etc/hosts /proc/sys/net/ipv4/tcp_rmem"
	before := n.Shell(ctx, look)
	for _, bad := range []string{
		"  sysctlParameters: [\"net.ipv4.tcp_rmem=1 1 1\"]\n",
		"  fileAssets:\n" + assetFile("/etc/hosts", "127.0.0.1 localhost\n"),
	} {
		s.write(t, "cluster.yaml", string(good)+bad)
		f.publish()
		res := n.Run(ctx, "netwright", "--once")
		if verdict := n.Shell(ctx, "cat /var/lib/netwright/checkpoint/verdict.json || true"); res.Code != 1 || !strings.Contains(verdict, "store:") {
			t.Errorf("%sexit %d, the verdict is %s\n%s%s", bad, res.Code, verdict, res.Stdout, res.Stderr)
		}
		if now := n.Shell(ctx, look); now != before {
			t.Errorf("%safter the undo:\n%s\nbefore:\n%s", bad, now, before)
		}
	}
	s.write(t, "cluster.yaml", string(good))
	f.publish()
	n.Must(ctx, "netwright", "--once")
	f.asked.take()
	n.Must(ctx, "netwright", "--once") // another process, as at a boot
	if documents := f.asked.take(); len(documents) != 1 {
		t.Errorf("with what the node has kept the documents took more than one request: %q", documents)
	}
}

// requests has the paths of the requests that a server got.
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

// serveStore serves a directory over TLS beyond the nodes' default route, unless hold holds the
// server.
func serveStore(t testing.TB, f *node.Fabric, dir string, pair pki.Pair, hold *held) requests {
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
			if !hold.answer(w, r) {
				files.ServeHTTP(w, r)
			}
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }() // ends with Close
	t.Cleanup(func() { server.Close() })
	return asked
}
