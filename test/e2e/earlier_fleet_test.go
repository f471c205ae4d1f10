package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// fleet has two nodes on one published store: node-1 with an earlier release, node-2 with this one.
type fleet struct {
	t     *testing.T
	nodes [2]*node.Node
	store store
	to    string // the directory of the published store
}

func newFleet(t *testing.T) fleet {
	t.Helper()
	f := fleet{t: t, store: bridgeStore(t), to: t.TempDir()}
	fabric := node.NewFabric(t)
	f.publish("  update: {splay: 0s}\n", program.Earlier(t))
	for i, agent := range []string{program.Earlier(t), agent(t)} {
		name := []string{"node-1", "node-2"}[i]
		f.nodes[i] = fabric.Node(t, options(t, f.store, name, "10.77.0.1"+name[5:], node.Options{
			Copies: map[string]string{"/usr/bin/netwright": agent},
			Binds:  map[string]string{published: f.to},
			Files: map[string]string{"/etc/netwright/agent.yaml": "store: " + published + "\ncluster: " + cluster + "\nnode: " + name +
				"\ninsecureUnsigned: true\ninterval: 5s\n"},
		}))
		f.nodes[i].Must(t.Context(), "systemctl", "start", "netwright-agent")
	}
	return f
}

// publish has a release publish the cluster with more in its spec, and returns the command's
// output.
func (f fleet) publish(spec, agent string) string {
	f.t.Helper()
	out, err := f.tryPublish(spec, agent)
	if err != nil {
		f.t.Fatalf("publish: %v\n%s", err, out)
	}
	return out
}

func (f fleet) tryPublish(spec, agent string) (string, error) {
	f.t.Helper()
	f.store.write(f.t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+spec+f.store.pluginSpec(f.t)))
	out, err := exec.Command(agent, "store", "publish", f.store.dir, f.to).CombinedOutput()
	if err != nil {
		return string(out), err
	}
	assets := filepath.Join(f.to, cluster, "assets")
	if _, err := os.Stat(assets); err != nil {
		command(f.t, "cp", "-r", f.store.path("assets"), assets)
	}
	return string(out), nil
}

// sysctl returns a spec whose sysctl shows which generation a node has.
func sysctl(value string) string {
	return "  update: {splay: 0s}\n  sysctlParameters: [net.ipv4.ip_default_ttl=" + value + "]\n"
}

// has waits until a node has a generation.
func (f fleet) has(i int, value string) {
	f.t.Helper()
	until(f.t, f.nodes[i], f.nodes[i].Name()+" has "+value, "test $(cat /proc/sys/net/ipv4/ip_default_ttl) = "+value)
}

// Nodes of two releases share one store, whichever release published it last. If this release
// publishes a field that an earlier one does not know, it says so. The earlier release refuses that
// generation and keeps the node right. This release does not publish a path that it newly refuses.
// Where an earlier release published such a path, only that key fails on a node of this release.
// The lines that keep it: pkg/statestore/manifest/manifest.go; pkg/config/decode/decoder.go, Newer;
// pkg/config/extras/reserved_paths.go, refuse; pkg/reconcile/changes/plan_task.go, PlanTask;
// pkg/reconcile/changes/prepared.go; pkg/reconcile/desired/pinned.go, refuse.
func TestMixedFleet(t *testing.T) {
	t.Parallel() // the test waits for passes
	ctx := t.Context()
	f := newFleet(t)
	earlier, later := program.Earlier(t), agent(t)
	for _, by := range []struct{ value, agent string }{{"65", earlier}, {"66", later}, {"67", earlier}} {
		if out := f.publish(sysctl(by.value), by.agent); strings.Contains(out, "refuse") {
			t.Errorf("%s: publish returns %s", by.value, out)
		}
		for i, peer := range []string{"10.244.2.1", "10.244.1.1"} {
			f.has(i, by.value)
			until(t, f.nodes[i], "its status is well", "netwright status >/dev/null")
			f.nodes[i].Must(ctx, "ping", "-n", "-c1", "-w10", peer)
		}
	}

	// The earlier release does not know this field.
	newer := strings.Replace(sysctl("68"), "splay: 0s", "splay: 0s, watch: 1m", 1)
	if out, err := f.tryPublish(newer, earlier); err == nil || !strings.Contains(out, `unknown field "watch"`) {
		t.Errorf("the earlier release publishes it: %v\n%s", err, out)
	}
	if out := f.publish(newer, later); !strings.Contains(out, "the field spec.update.watch is newer than agents of earlier releases, which refuse the document for it") {
		t.Errorf("publish does not name the newer field:\n%s", out)
	}
	f.has(1, "68")
	until(t, f.nodes[0], "the earlier release refuses it", "journalctl -b -u netwright-agent -o cat | grep -q 'unknown field .*watch'")
	f.nodes[0].Shell(ctx, "sysctl -qw net.ipv4.ip_default_ttl=99")
	f.has(0, "67") // and repairs the generation that it had

	// Only this release refuses this path.
	const reserved = "/etc/netwright/conf.d/lab"
	refused := sysctl("69") + "  fileAssets:\n" + assetFile(reserved, "x\n") + assetFile("/etc/lab", "x\n")
	if out, err := f.tryPublish(refused, later); err == nil || !strings.Contains(out, "the agent's own") || !strings.Contains(out, "nothing was published") {
		t.Errorf("this release publishes a path that it refuses: %v\n%s", err, out)
	}
	f.publish(refused, earlier)
	f.has(0, "69")
	f.has(1, "69")
	until(t, f.nodes[0], "the earlier release writes the file", "test -e "+reserved)
	p := plan(ctx, t, f.nodes[1], 1)
	if failed := messages(p, report.Failed); strings.Count(failed, "\n") != 1 || !strings.Contains(failed, "file:"+reserved+": refused: that is the agent's own") {
		t.Errorf("what fails on the node is:\n%s", failed)
	}
	if !strings.Contains(notes(p), reserved) {
		t.Errorf("no warning names it:\n%s", notes(p))
	}
	f.nodes[1].Shell(ctx, "test -e /etc/lab; test ! -e "+reserved)
	f.nodes[1].Must(ctx, "systemctl", "restart", "netwright-agent") // returns when the agent is ready
	if got := f.nodes[1].Must(ctx, "systemctl", "show", "-p", "StatusText", "netwright-agent"); strings.Contains(got, "not prepared") {
		t.Errorf("kubelet was held back by it: %s", got)
	}

	// After its upgrade the node of the earlier release leaves the path alone, also when no
	// document wants it any more.
	f.nodes[0].Copy(later, "/usr/bin/netwright", 0o755)
	f.nodes[0].Must(ctx, "systemctl", "restart", "netwright-agent")
	until(t, f.nodes[0], "the later release says what it refuses", "netwright status | grep -q 'refused: that is the agent'")
	f.publish(sysctl("70"), later)
	for i := range f.nodes {
		f.has(i, "70")
		until(t, f.nodes[i], "the other file goes", "test ! -e /etc/lab")
		until(t, f.nodes[i], "its status is well", "netwright status >/dev/null")
	}
	f.nodes[0].Shell(ctx, "test -e "+reserved)

	// The path also fails alone in a rollback to the earlier release's revision.
	f.nodes[0].Must(ctx, "rm", reserved)
	if res := f.nodes[0].Run(ctx, "netwright", "rollback"); res.Code != 1 || !strings.Contains(res.Stdout, "refused: that is the agent's own") {
		t.Errorf("the rollback to what is refused: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	f.has(0, "69")
	f.nodes[0].Shell(ctx, "test -e /etc/lab; test ! -e "+reserved)
	f.nodes[0].Must(ctx, "netwright", "resume")
	f.has(0, "70")
}
