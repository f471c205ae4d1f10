package daemons

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// api is a Kubernetes API server for daemons that ask one. No controller and no kubelet is there:
// what those do, tests do.
type api struct {
	t      testing.TB
	server *kubeapi.Server
}

// Join registers a node, as its kubelet and the controller of pod CIDRs do.
func Join(t testing.TB, server *kubeapi.Server, name string, podCIDRs, addresses []string) {
	t.Helper()
	server.Apply(fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  labels: {kubernetes.io/os: linux}\nspec: {podCIDR: %q, podCIDRs: [\"%s\"]}\n", name, podCIDRs[0], strings.Join(podCIDRs, `", "`)))
	var status []string
	for _, a := range addresses {
		status = append(status, fmt.Sprintf(`{"type": "InternalIP", "address": %q}`, a))
	}
	server.Must(http.MethodPatch, "/api/v1/nodes/"+name+"/status", `{"status": {"addresses": [`+strings.Join(status, ",")+
		`], "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": null, "lastTransitionTime": null}]}}`)
}

// Pod makes a pod that a scheduler gave to a node. A daemon looks up the pod when the node's plugin
// asks for it.
func Pod(t testing.TB, server *kubeapi.Server, name, nodeName string) {
	t.Helper()
	server.Apply(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: default\nspec:\n  nodeName: %s\n  containers: [{name: main, image: none}]\n", name, nodeName))
}

// manifests applies those of upstream's that an asset has.
func (a api) manifests(file string) {
	a.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		a.t.Fatal(err)
	}
	a.server.Apply(string(text))
}

// create makes an object as soon as the server knows its kind.
func (a api) create(path, object string) {
	a.t.Helper()
	a.wait("the server takes "+path, func() bool {
		code, answer, err := a.server.Try(http.MethodPost, path, object)
		if err != nil || code != http.StatusCreated && code != http.StatusNotFound {
			a.t.Fatalf("making %s in %s: %d %v\n%s", object, path, code, err, answer)
		}
		return code == http.StatusCreated
	})
}

// wait waits for what a test sees; its own end only ends what hangs.
func (a api) wait(what string, is func() bool) {
	a.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("it never came that %s", what)
		}
	}
}

// kubeconfig is an administrator's, put onto a node.
func (a api) kubeconfig(n *node.Node) string {
	a.t.Helper()
	const path = "/opt/lab/kubeconfig"
	n.Write(path, a.server.Kubeconfig(a.server.Endpoint, a.server.Authority.Client("admin", "system:masters")), 0o600)
	return path
}

// start starts a daemon as a unit, and waits until a condition of a shell holds.
func (a api) start(ctx context.Context, n *node.Node, unit, until string, environment, command []string) {
	a.t.Helper()
	run := []string{"--quiet", "--collect", "--unit=" + unit, "--property=TimeoutStopSec=1s"} // some go on when they are told to end
	for _, e := range environment {
		run = append(run, "--setenv="+e)
	}
	n.Must(ctx, "systemd-run", append(append(run, "--"), command...)...)
	if !n.Await(ctx, until) {
		a.t.Fatalf("node %s: %s does not come up:\n%s", n.Name(), unit, n.Run(ctx, "journalctl", "-u", unit, "-n", "60", "--no-pager").Stdout)
	}
}
