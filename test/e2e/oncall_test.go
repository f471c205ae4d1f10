package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// night is a node with a server for its store. A test may stop either of them, and may do to them
// what a person can.
type night struct {
	*node.Node
	s   store
	doc string // the cluster's document
	f   fresh
}

// incident is an event on a node, with what status and metrics then report to the person on call.
type incident struct {
	name       string
	begin, end func(*testing.T, *night)
	exit       int      // of `agent status`
	says       []string // texts of status
	metrics    []string // lines; which alerts they fire is in test/alerts
}

// Whatever happens, the status says at once what it is, what it means and what to do. By the
// metrics the alert fires that fits the consequence. It is critical where pods lose their network
// or cannot run, or where somebody may have changed the store. It is not critical where a store
// does not answer. When the incident is over the node is right again without a person. Other tests
// have a generation that cuts the node off (TestWhatAHookDidIsTakenBack, TestBootstrapFromHTTPS,
// TestWhatAChangeBringsMustAnswer) and a full disk (TestFaultsOfTheHostHoldNothingUp).
//
// The lines that keep it: pkg/daemon/runtime_and_kubelet.go; pkg/daemon/status_after_pass.go,
// stateAfter; pkg/reconcile/drift/drift.go, lost.
func TestOnCall(t *testing.T) {
	t.Parallel() // most of the test is waiting, so the store's incidents run beside the node's
	right := incident{exit: 0, metrics: []string{state("converged"), "netwright_configuration_error 0", `netwright_service_up{service="containerd"} 1`, `netwright_service_up{service="kubelet"} 1`}}
	for _, of := range []struct {
		what      string
		incidents []incident
		then      func(*testing.T, *night)
	}{{"store", ofTheStore, appliesTheNext}, {"node", ofTheNode, nil}} {
		t.Run(of.what, func(t *testing.T) {
			t.Parallel()
			n := newNight(t)
			right.told(t, n.Node)
			for _, c := range of.incidents {
				t.Run(c.name, func(t *testing.T) {
					c.begin(t, n)
					c.told(t, n.Node)
					c.end(t, n)
					right.told(t, n.Node)
				})
			}
			if of.then != nil {
				of.then(t, n)
			}
		})
	}
}

func newNight(t *testing.T) *night {
	t.Helper()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+"  drift: {contested: {after: 3, within: 60s}}\n")
	f := serveFresh(t, s)
	files := map[string]string{
		"/root/user-data":                     f.userData,
		"/etc/systemd/system/kubelet.service": "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c 'test ! -e /run/bad-kubelet || { echo no such flag; exit 3; }; exec sleep infinity'\nRestart=always\nRestartSec=1\n",
		"/etc/systemd/system/fight.service":   "[Service]\nExecStart=/bin/sh -c 'while :; do echo 0 >/proc/sys/net/ipv4/ip_forward; sleep 0.2; done'\n",
	}
	maps.Copy(files, f.files)
	n := &night{s: s, doc: string(doc), f: f}
	n.Node = f.fabric.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Files: files})
	n.Must(t.Context(), "/root/user-data")
	n.Must(t.Context(), "systemctl", "start", "netwright-agent", "kubelet")
	return n
}

func state(name string) string { return fmt.Sprintf(`netwright_node_state{state=%q} 1`, name) }

func (n *night) reload(t *testing.T) { n.Must(t.Context(), "systemctl", "reload", "netwright-agent") }

var ofTheStore = []incident{
	{name: "the store is gone", begin: holds(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }), end: released, exit: 0,
		says: []string{"the newest generation cannot be used"}, metrics: []string{state("converged"), "netwright_configuration_error 1"}},
	{name: "the store lets nobody in", begin: holds(func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }), end: released, exit: 2,
		says: []string{"403"}, metrics: []string{"netwright_configuration_error 1", "netwright_configuration_untrusted 0"}},
	{name: "the store was tampered with", begin: tampers(`"generation": 1`, `"generation": 2`), end: tampers(`"generation": 2`, `"generation": 1`), exit: 2,
		says: []string{"what the store has is not trusted", "somebody changed it since"}, metrics: []string{"netwright_configuration_untrusted 1"}},
}

var ofTheNode = []incident{
	{name: "somebody fights for forwarding", begin: shell("systemctl start fight"), end: shell("systemctl stop fight"), exit: 2,
		says: []string{"critical: sysctl:net.ipv4.ip_forward: forwarding is off: pods reach nothing outside", "fight.service"}, metrics: []string{state("critical")}},
	{name: "the conf cannot be written", begin: unseen("mv /etc/cni/net.d /etc/cni/away; touch /etc/cni/net.d"), end: unseen("rm /etc/cni/net.d; mv /etc/cni/away /etc/cni/net.d"), exit: 2,
		says: []string{"critical: file:/etc/cni/net.d/05-netwright-bridge.conflist"}, metrics: []string{state("critical")}},
	{name: "the runtime hangs", begin: signal("STOP"), end: signal("CONT"), exit: 2,
		says: []string{"critical: containerd does not work", "containerd.service runs, but does not answer", "no pod can be started"}, metrics: []string{state("critical"), `netwright_service_up{service="containerd"} 0`}},
	// A pass reads the file, and the state stays: the agent does not take the file's word that
	// nothing serves CRI for a runtime that works.
	{name: "the runtime's CRI is switched off", begin: shell(`cp /etc/containerd/config.toml /run/good.toml; sed -i '/^version/a disabled_plugins = ["io.containerd.grpc.v1.cri"]' /etc/containerd/config.toml; systemctl restart containerd; systemctl reload netwright-agent`),
		end: shell("cp /run/good.toml /etc/containerd/config.toml; systemctl restart containerd"), exit: 2,
		says: []string{"critical: containerd does not work", "its CRI is switched off: disabled_plugins has io.containerd.grpc.v1.cri in /etc/containerd/config.toml"}, metrics: []string{state("critical"), `netwright_service_up{service="containerd"} 0`}},
	{name: "the runtime's socket was removed", begin: shell("rm /run/containerd/containerd.sock"), end: shell("systemctl restart containerd"), exit: 2,
		says: []string{"critical: containerd does not work", "its socket /run/containerd/containerd.sock was removed: restart it"}, metrics: []string{state("critical"), `netwright_service_up{service="containerd"} 0`}},
	{name: "kubelet does not stay up", begin: shell("touch /run/bad-kubelet; systemctl restart kubelet; until netwright verify | grep -q 'kubelet.service does not stay up'; do sleep 0.3; done"), end: shell("rm /run/bad-kubelet; systemctl reset-failed kubelet; systemctl restart kubelet"), exit: 2,
		says: []string{"critical: kubelet does not work", "kubelet.service does not stay up"}, metrics: []string{state("critical"), `netwright_service_up{service="kubelet"} 0`}},
}

func shell(script string) func(*testing.T, *night) {
	return func(t *testing.T, n *night) { n.Shell(t.Context(), script) }
}

// unseen runs a script while the agent is stopped, so that the agent repairs nothing between two of
// its commands.
func unseen(script string) func(*testing.T, *night) {
	return shell("pid=$(systemctl show --value -p MainPID netwright-agent); kill -STOP $pid; " + script + "; kill -CONT $pid")
}

func holds(how func(http.ResponseWriter)) func(*testing.T, *night) {
	return func(t *testing.T, n *night) {
		n.f.hold.begin(func(w http.ResponseWriter, _ <-chan struct{}) { how(w) })
		n.reload(t)
	}
}

func released(t *testing.T, n *night) {
	n.f.hold.release()
	n.reload(t)
}

// tampers changes the signed manifest.
func tampers(was, is string) func(*testing.T, *night) {
	return func(t *testing.T, n *night) {
		t.Helper()
		path := filepath.Join(n.f.dir, "manifest")
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(data, []byte(was), []byte(is), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.reload(t)
	}
}

func signal(name string) func(*testing.T, *night) {
	return func(t *testing.T, n *night) {
		n.Is(t.Context(), "kill -"+name+" $(systemctl show --value -p MainPID containerd)")
	}
}

// appliesTheNext checks that a node applies a published generation when `agent wait` says so, and
// not before. The status says who published it.
func appliesTheNext(t *testing.T, n *night) {
	n.s.write(t, "cluster.yaml", n.doc+"  fileAssets:\n"+assetFile("/srv/two", "two\n"))
	n.f.publish()
	if res := n.Run(t.Context(), "netwright", "wait", "--generation", "2", "--timeout", "1s"); res.Code != 3 || n.Is(t.Context(), "test -e /srv/two") {
		t.Errorf("before the node has looked: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.reload(t)
	n.Must(t.Context(), "netwright", "wait", "--generation", "2")
	n.Must(t.Context(), "test", "-e", "/srv/two")
	applied := incident{exit: 0, says: []string{"generation 2 was published ", " ago by "}, metrics: []string{"netwright_configuration_applied_generation 2", "netwright_configuration_published_generation 2"}}
	applied.told(t, n.Node)
}

// told waits until the status and the metrics report the incident.
func (c *incident) told(t *testing.T, n *node.Node) {
	t.Helper()
	var all strings.Builder
	fmt.Fprintf(&all, "netwright status >/run/told; [ $? = %d ]", c.exit)
	for _, text := range c.says {
		fmt.Fprintf(&all, " && grep -qF '%s' /run/told", text)
	}
	all.WriteString(" && curl -s http://127.0.0.1:19870/metrics >/run/metrics")
	for _, line := range c.metrics {
		fmt.Fprintf(&all, " && grep -qxF '%s' /run/metrics", line)
	}
	if !n.Await(t.Context(), all.String()) {
		t.Fatalf("%s: it never came that %s\n%s\n%s", c.name, all.String(), n.Read("/run/told"), n.Run(t.Context(), "journalctl", "-b", "--no-pager", "-n", "30", "-u", "netwright-agent").Stdout)
	}
}
