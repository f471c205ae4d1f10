package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// hindrance is a request of the agent that does not end while a test repairs beside it.
type hindrance struct {
	what  string
	begin func()
	again func()      // starts it again, if a limit of the agent has ended it
	now   func() bool // whether it is there
	end   func()
	ends  bool // a bound of the agent ends it at once
}

// hindranceRounds returns in how many rounds a sysctl and a file are changed beside a hindrance.
func hindranceRounds() int {
	if os.Getenv("NETWRIGHT_DRIFT") == "full" {
		return 60
	}
	return 1
}

// repairedIn changes a sysctl and a file of a node and returns how long each was wrong. It asks
// nothing of the node's systemd.
func repairedIn(t *testing.T, n *node.Node) (took []time.Duration) {
	t.Helper()
	n.Is(t.Context(), `exec >/run/took
		a=$(date +%s%N); echo 0 >/proc/sys/net/ipv4/ip_forward
		while [ "$(cat /proc/sys/net/ipv4/ip_forward)" != 1 ]; do :; done
		b=$(date +%s%N); echo "took $((b-a))"; sleep 0.5
		a=$(date +%s%N); rm /srv/mine
		while ! [ -e /srv/mine ]; do :; done
		b=$(date +%s%N); echo "took $((b-a))"; sleep 0.5`)
	for line := range strings.Lines(n.Read("/run/took")) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "took "); ok {
			nanoseconds, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Duration(nanoseconds))
		}
	}
	if len(took) != 2 {
		t.Fatalf("the times of the repairs are not known: %v", took)
	}
	return took
}

// beside measures repairs while a hindrance is there. It does not count a repair during which the
// hindrance ended.
func (h hindrance) beside(t *testing.T, n *node.Node) (took []time.Duration) {
	t.Helper()
	h.begin()
	for made := 0; made < hindranceRounds(); {
		if !h.now() {
			h.again()
		}
		if round := repairedIn(t, n); h.ends || h.now() {
			took = append(took, round...)
			made++
		}
	}
	h.end()
	return took
}

// served returns the hindrance of a server that is held. ask makes the agent send a request to the
// server.
func served(what string, h *held, how func(http.ResponseWriter, <-chan struct{}), ends bool, ask func()) hindrance {
	meet := func() {
		met := h.next()
		ask()
		<-met
	}
	return hindrance{what, func() { h.begin(how); meet() }, meet, h.now, h.release, ends}
}

// The agent repairs drift while another request does not end: of the store, the mirror of its
// archives, the Kubernetes API, the container runtime, the message bus, or a systemd that works for
// a fifth of the time. The request is still open when all is repaired. The test prints how long the
// repairs took.
//
// The lines that keep it: pkg/daemon/store_look.go; pkg/reconcile/fetch/fetch.go;
// pkg/host/cri/status_cache.go.
func TestDriftWaitsForNobody(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+"  drift: {contested: {after: 1000, within: 10s}}\n  fileAssets:\n"+assetFile("/srv/mine", "one\n"))
	// The API has the node's pod CIDR.
	s.write(t, "nodes/node-1.yaml", document("Node", "node-1", "  nodeGroup: nodes\n  address: 10.77.0.11\n"))
	f := serveFresh(t, s)
	api := &held{}
	files := map[string]string{"/root/user-data": f.userData, "/etc/netwright/kubeconfig": serveOneNode(t, f.fabric, api)}
	maps.Copy(files, f.files)
	n := f.fabric.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Files: files})
	n.Must(ctx, "/root/user-data")
	n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
	n.Must(ctx, "netwright", "--once", "--wait", "1m")
	until(t, n, "the plugins are kept", "ls /var/lib/netwright/assets/members/* >/dev/null")

	look := func() { n.Must(ctx, "systemctl", "reload", "netwright-agent") }
	fetch := func() { n.Shell(ctx, "rm -f /var/lib/netwright/assets/members/* "+pluginPath) }
	nothing := hindrance{what: "nothing", begin: func() {}, now: func() bool { return true }, end: func() {}}
	list := []hindrance{nothing}
	for _, how := range []struct {
		what string
		how  func(http.ResponseWriter, <-chan struct{})
		ends bool
	}{{"is a black hole", blackHole, false}, {"drips", drip, false}, {"has no end", endless, true}} {
		list = append(list, served("the store "+how.what, f.hold, how.how, how.ends, look), served("an archive "+how.what, f.hold, how.how, false, fetch),
			served("the API "+how.what, api, how.how, how.ends, look))
	}
	list = append(list, stopped(t, n, "containerd", "systemctl daemon-reload"), stopped(t, n, "dbus", "true"), slowInit(t, n), nothing)

	table := fmt.Sprintf("\n%-30s %4s %9s %9s %9s %9s\n", "beside", "n", "median", "p99", "worst", "x p99")
	var plain []time.Duration
	for _, h := range list {
		took := h.beside(t, n)
		slices.Sort(took)
		if plain == nil {
			plain = took
		}
		at := func(list []time.Duration, percent int) time.Duration {
			return list[(len(list)*percent-1)/100].Round(100 * time.Microsecond)
		}
		table += fmt.Sprintf("%-30s %4d %9s %9s %9s %9.1f\n", h.what, len(took), at(took, 50), at(took, 99), at(took, 100),
			float64(at(took, 99))/float64(at(plain, 99)))
		// A held request ends with an empty answer, and the first run may be the one that gets it.
		until(t, n, "a run succeeds after: "+h.what, "netwright --once >/dev/null")
		until(t, n, "the plugin is there after: "+h.what, "test -e "+pluginPath)
	}
	t.Log(table)
	checkBridgeNode(t, n)
}

// stopped returns the hindrance of a unit whose process is stopped. event makes the agent look at
// the unit.
func stopped(t *testing.T, n *node.Node, unit, event string) hindrance {
	t.Helper()
	pid := strings.TrimSpace(n.Must(t.Context(), "systemctl", "show", "--value", "-p", "MainPID", unit))
	is := "grep -q ') T ' /proc/" + pid + "/stat"
	return hindrance{
		what: unit + " is stopped",
		begin: func() { // the unit's process stops when it runs
			n.Is(t.Context(), "kill -STOP "+pid+"; for i in $(seq 1000); do if "+is+"; then break; fi; sleep 0.01; done; "+event)
		},
		again: func() { t.Fatalf("%s is not stopped any more: this proves nothing", unit) },
		now:   func() bool { return n.Is(t.Context(), is) },
		end:   func() { n.Is(t.Context(), "kill -CONT "+pid) },
	}
}

// slowInit returns the hindrance of a systemd that runs for 50 ms and then stops for 200 ms.
func slowInit(t *testing.T, n *node.Node) hindrance {
	over, ended := make(chan struct{}), make(chan struct{})
	return hindrance{
		what: "systemd is slow",
		begin: func() {
			go func() {
				defer close(ended)
				for {
					_ = syscall.Kill(n.Init(), syscall.SIGSTOP) // the test fails without it
					time.Sleep(200 * time.Millisecond)
					_ = syscall.Kill(n.Init(), syscall.SIGCONT)
					select {
					case <-over:
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			}()
		},
		now: func() bool { return true },
		end: func() { close(over); <-ended },
	}
}

// serveOneNode serves a Kubernetes API that has node-1 with its pod CIDR. It returns a kubeconfig
// for that API.
func serveOneNode(t *testing.T, f *node.Fabric, hold *held) (kubeconfig string) {
	t.Helper()
	var listener net.Listener
	err := f.Do(func() (err error) {
		listener, err = net.Listen("tcp", node.Gateway4+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	one := map[string]any{
		"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": "node-1", "resourceVersion": "1"},
		"spec":   map[string]any{"podCIDR": "10.244.1.0/24", "podCIDRs": []string{"10.244.1.0/24"}},
		"status": map[string]any{"addresses": []any{map[string]string{"type": "InternalIP", "address": "10.77.0.11"}}},
	}
	all := map[string]any{"kind": "NodeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{one}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if hold.answer(w, r) {
			return
		}
		answer := one
		if r.URL.Path == "/api/v1/nodes" {
			answer = all
		}
		_ = json.NewEncoder(w).Encode(answer) // a client may close the connection
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { server.Close() })
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
  "clusters": [{"name": "k", "cluster": {"server": "http://%s"}}], "users": [{"name": "u", "user": {"token": "t"}}]}`, listener.Addr())
}
