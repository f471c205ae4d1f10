// Package kind adds a kind of task to the agent in three files, with a kind of key that nothing
// else has, and holds the agent to it on a booted node.
package kind

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

const (
	cluster = "kind.example.com"
	store   = "/srv/netwright/" + cluster
	server  = "10.77.0.20" // the node must go on reaching it
	lib     = "/var/lib/netwright/"
)

const spec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    cni: {}
  update: {splay: 0s}
`

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: %s\nmetadata:\n  name: %s\nspec:\n%s", kind, name, spec)
}

// lab is a node whose agent has the new kind.
type lab struct {
	t *testing.T
	n *node.Node

	cluster string // the cluster's document
}

func newLab(t *testing.T) lab {
	t.Helper()
	unit, err := os.ReadFile(tree + "/systemd/netwright-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	archive, sum := assets.CNIArchive(t)
	file := "assets/" + filepath.Base(archive)
	asset := "  assets:\n  - name: cni-plugins\n    arch: {%s: {sha256: %s, urls: [%s]}}\n"
	text := document("Cluster", cluster, spec+fmt.Sprintf(asset, runtime.GOARCH, sum, file))
	conf := "store: /srv/netwright\ncluster: %s\nnode: node-1\ninterval: 1h\nprobeWindow: 9s\nprobes: [tcp:%s:6443, ping:%s]\n"
	own := "  nodeGroup: nodes\n  address: 10.77.0.11\n  podCIDRs: [10.244.1.0/24]\n"
	f := node.NewFabric(t)
	serve(t, f)
	n := f.Node(t, node.Options{Name: "node-1", Address: "10.77.0.11",
		Copies: map[string]string{"/usr/bin/netwright": built(t), store + "/" + file: archive},
		Files: map[string]string{
			"/etc/systemd/system/netwright-agent.service": string(unit),
			"/etc/hosts":                     "127.0.0.1 localhost\n10.9.9.9 registry.test\n",
			"/etc/netwright/agent.yaml":      fmt.Sprintf(conf, cluster, server, node.Gateway6),
			store + "/cluster.yaml":          text,
			store + "/nodegroups/nodes.yaml": document("NodeGroup", "nodes", "  role: Node\n"),
			store + "/nodes/node-1.yaml":     document("Node", "node-1", own),
		}})
	return lab{t, n, text}
}

// serve starts a server on the fabric, which the node's probes reach.
func serve(t *testing.T, f *node.Fabric) {
	t.Helper()
	name := strings.TrimPrefix(f.Netns(), "/run/netns/")
	if out, err := exec.Command("ip", "-n", name, "addr", "add", server+"/24", "dev", "br0").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var l net.Listener
	err := f.Do(func() (err error) {
		l, err = net.Listen("tcp", server+":6443")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

// revision makes a revision from the first one, with more tasks. No document can ask for the new
// kind, but a revision can, by the kind's name in the ledger.
func (l lab) revision(number int, more ...string) {
	l.t.Helper()
	var rev map[string]json.RawMessage
	var tasks []json.RawMessage
	text := l.n.Read(lib + "revisions/1.json")
	if err := json.Unmarshal([]byte(text), &rev); err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(rev["tasks"], &tasks); err != nil {
		l.t.Fatal(err)
	}
	for _, task := range more {
		tasks = append(tasks, json.RawMessage(task))
	}
	all, err := json.Marshal(tasks)
	if err != nil {
		l.t.Fatal(err)
	}
	rev["number"], rev["tasks"] = json.RawMessage(fmt.Sprint(number)), all
	rev["digest"] = json.RawMessage(fmt.Sprintf("%q", fmt.Sprint("revision ", number)))
	out, err := json.Marshal(rev)
	if err != nil {
		l.t.Fatal(err)
	}
	l.n.Write(fmt.Sprintf("%srevisions/%d.json", lib, number), string(out), 0o600)
}

func hosts(name, address string) string {
	return fmt.Sprintf(`{"kind":"hosts","version":1,"params":{"Name":%q,"Address":%q},"from":"test"}`, name, address)
}

// is waits until a name has this address in /etc/hosts; "": until the name is absent.
func (l lab) is(what, name, address string) {
	l.t.Helper()
	condition := fmt.Sprintf("grep -qx '%s %s' /etc/hosts", address, name)
	if address == "" {
		condition = "! grep -q " + name + " /etc/hosts"
	}
	l.until(what, condition)
}

// until waits for a condition of the shell.
func (l lab) until(what, condition string) {
	l.t.Helper()
	if !l.n.Await(l.t.Context(), condition) {
		said := l.n.Run(l.t.Context(), "journalctl", "-b", "--no-pager", "-n", "40").Stdout
		l.t.Fatalf("it never came that %s (%s)\n%s%s", what, condition, l.n.Read("/etc/hosts"), said)
	}
}

// drift sets the policy for drift.
func (l lab) drift(spec string) {
	l.t.Helper()
	l.n.Write(store+"/cluster.yaml", l.cluster+spec, 0o644)
}

// A kind that consists of its file, its test and its row is recorded, watched, undone, pruned and
// reset. The lines of /etc/hosts judge.
//
// The lines that keep it: pkg/tasks/kind_lookup.go, each function; pkg/checkpoint/undo/own_keys.go;
// pkg/config/policy/drift.go, Fields.
func TestAKindInThreeFiles(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
	needs.Root(t)
	l := newLab(t)
	ctx := t.Context()
	before := l.n.Read("/etc/hosts")
	l.n.Must(ctx, "netwright", "--once")
	l.revision(2, hosts("registry.test", "10.1.1.1"), hosts("mirror.test", "10.1.1.2"))
	l.revision(3, hosts("registry.test", "10.2.2.1"), hosts("mirror.test", "10.2.2.2"), hosts("third.test", "10.2.2.3"),
		`{"kind":"sysctl","version":1,"params":{"Key":"net.ipv6.conf.host0.disable_ipv6","Value":"1"},"from":"test"}`)

	l.n.Must(ctx, "netwright", "rollback", "2")
	l.is("it is applied over what was there", "registry.test", "10.1.1.1")
	l.is("it is applied", "mirror.test", "10.1.1.2")
	l.n.Shell(ctx, "grep -rq hosts:registry.test "+lib)
	l.undone()

	l.n.Shell(ctx, "sed -i '/mirror.test/s/.*/10.6.6.6 mirror.test/' /etc/hosts")
	l.drift("  drift: {hosts: report}\n")
	l.n.Run(ctx, "netwright", "--once")
	l.is("drift is only reported", "mirror.test", "10.6.6.6")
	l.drift("  drift: {keys: {'hosts:mirror.test': repair}, hosts: report}\n")
	l.n.Must(ctx, "netwright", "--once")
	l.is("drift is repaired", "mirror.test", "10.1.1.2")

	l.drift("")
	l.n.Must(ctx, "systemctl", "start", "netwright-agent")
	l.n.Shell(ctx, "sed -i '/mirror.test/d' /etc/hosts")
	l.is("the daemon, which looks at all once an hour, hears of it", "mirror.test", "10.1.1.2")
	l.n.Must(ctx, "systemctl", "restart", "netwright-agent")
	l.n.Must(ctx, "systemctl", "stop", "netwright-agent")

	l.n.Must(ctx, "netwright", "resume")
	l.n.Must(ctx, "netwright", "--once")
	l.is("prune takes what is ours", "mirror.test", "")
	l.is("prune leaves what was there", "registry.test", "10.1.1.1")
	l.n.Must(ctx, "netwright", "rollback", "2")
	l.is("it is back", "mirror.test", "10.1.1.2")
	l.n.Must(ctx, "netwright", "reset")
	if after := l.n.Read("/etc/hosts"); after != before {
		t.Errorf("after a reset:\n%s\nbefore:\n%s", after, before)
	}
}

// undone makes a change that cuts the node off, and kills the agent in the middle. The program of
// the timer restores the keys.
func (l lab) undone() {
	ctx := l.t.Context()
	was := l.n.Read("/etc/hosts")
	const uncut = "test $(cat /proc/sys/net/ipv6/conf/host0/disable_ipv6) = 0"
	l.n.Start(ctx, "acting", "/bin/sh", "-c", "while "+uncut+" || ! grep -q '10.2.2.3 third.test' /etc/hosts; do sleep 0.01; done; "+
		"cp /etc/hosts /run/made; systemctl kill --signal=KILL cutting; touch /run/acted")
	l.n.Start(ctx, "cutting", "netwright", "rollback", "3")
	l.until("the change is made", "test -e /run/acted")
	made := l.n.Read("/run/made")
	if !strings.Contains(made, "10.2.2.1 registry.test") || !strings.Contains(made, "10.2.2.2 mirror.test") {
		l.t.Errorf("the change did not change the keys:\n%s", made)
	}
	l.until("the checkpoint is over", "test -e "+lib+"checkpoint/verdict.json && test ! -e "+lib+"checkpoint/journal.json")
	if after := l.n.Read("/etc/hosts"); after != was {
		l.t.Errorf("after the undo:\n%s\nbefore:\n%s", after, was)
	}
	l.n.Shell(ctx, uncut)
	l.until("nothing of it runs", "! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	l.n.Must(ctx, "netwright", "rollback", "2")
	l.is("nothing of it comes again", "third.test", "")
}
