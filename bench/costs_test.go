package bench

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

var against = flag.String("against", "", "a commit: BenchmarkCosts measures its agent beside this one")

// costed is the node whose costs are measured: with a bridge network, a neighbour that answers, and
// a daemon.
type costed struct {
	*node.Node
	t *testing.B
}

const (
	costedDoc = "/srv/netwright/costs.example.com/cluster.yaml"
)

// costedSpec is what the node always wants. A class adds its own lines, an MTU and a next hop.
const costedSpec = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: costs.example.com}\nspec:\n%s" +
	"  kubernetesVersion: 1.36.0\n  podCIDR: 10.244.0.0/16\n  serviceClusterIPRange: 10.96.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n" +
	"  update: {splay: 0s}\n  networking: {bridge: {mtu: %d, nodes: [{name: other, address: 10.77.0.%d, podCIDRs: [10.244.9.0/24]}]}}\n" +
	"  assets: [{name: cni-plugins, arch: {" + runtime.GOARCH + ": {sha256: SUM, urls: [assets/plugins.tgz]}}}]\n"

const costedNode = "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\n" +
	"spec: {address: 10.77.0.11, podCIDRs: [10.244.1.0/24]}\n"

// These neighbours of the node answer: they are next hops of a route.
const firstHop, otherHop = 20, 21

// classes has classes of changes. Each is a change of a node that has nothing of it.
var classes = []struct{ name, doc string }{
	{"nothing", cost("", 1400, firstHop)},
	{"sysctl, harmless", cost("  sysctlParameters: [net.ipv4.tcp_max_syn_backlog=16384]\n", 1400, firstHop)},
	{"sysctl", cost("  sysctlParameters: [net.ipv4.conf.host0.arp_announce=1]\n", 1400, firstHop)},
	{"file, harmless", cost("  fileAssets: [{name: x, path: /etc/motd, content: x}]\n", 1400, firstHop)},
	{"file", cost("  fileAssets: [{name: x, path: /etc/lab/x, content: x}]\n", 1400, firstHop)},
	{"route", cost("", 1400, otherHop)},
	{"link", cost("", 1401, firstHop)},
	{"hook", cost("  hooks: [{name: lab.service, manifest: ExecStart=/bin/sleep infinity}]\n", 1400, firstHop)},
}

func cost(spec string, mtu, hop int) string { return fmt.Sprintf(costedSpec, spec, mtu, hop) }

// BenchmarkCosts measures what safety costs, on one node and in turns: the time until the daemon is
// ready, a pass with nothing to do, and changes by class, with the number of checkpoints. With
// -against COMMIT it measures two agents.
func BenchmarkCosts(b *testing.B) {
	ctx := b.Context()
	agents := map[string]string{"this": program.Agent(b)}
	names := []string{"this"}
	if *against != "" {
		agents[*against] = program.At(b, *against)
		names = []string{*against, "this"}
	}
	programs, _ := build(b)
	n := newCosted(b, agents, programs)
	costs := map[string][]sample{}
	for range *rounds {
		for _, name := range names {
			n.install(ctx, name)
			if wants("ready") {
				costs["READY, started | "+name] = append(costs["READY, started | "+name], n.restarted(ctx))
				n.Reboot(ctx)
				costs["READY, booted | "+name] = append(costs["READY, booted | "+name], n.ready(ctx))
				n.Must(ctx, "systemctl", "stop", "netwright-agent")
			}
			for _, c := range classes {
				if !wants(c.name) {
					continue
				}
				n.write(c.doc)
				costs[c.name+" | "+name] = append(costs[c.name+" | "+name], n.once(ctx))
				n.write(classes[0].doc)
				n.once(ctx)
			}
		}
	}
	fmt.Print("| what | agent | wall ms | least | cpu ms | checkpoints |\n|---|---|---|---|---|---|\n")
	for _, what := range []string{"READY, booted", "READY, started"} {
		printCosts(what, names, costs)
	}
	for _, c := range classes {
		printCosts(c.name, names, costs)
	}
}

func printCosts(what string, names []string, costs map[string][]sample) {
	for _, name := range names {
		all := costs[what+" | "+name]
		if len(all) == 0 {
			continue
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		wall := func(s sample) time.Duration { return s.Wall }
		taken := 0
		for _, s := range all {
			taken += s.Round
		}
		least := slices.MinFunc(all, func(a, b sample) int { return int(a.Wall - b.Wall) })
		fmt.Printf("| %s | %s | %.1f | %.1f | %.1f | %d of %d |\n", what, name, ms(median(all, wall)), ms(least.Wall), ms(median(all, sample.cpu)), taken, len(all))
	}
}

func newCosted(b *testing.B, agents, programs map[string]string) costed {
	b.Helper()
	unit, err := os.ReadFile("../systemd/netwright-agent.service")
	if err != nil {
		b.Fatal(err)
	}
	archive, sum := assets.CNIArchive(b)
	for i := range classes {
		classes[i].doc = strings.Replace(classes[i].doc, "SUM", sum, 1)
	}
	copies := maps.Clone(programs)
	copies["/srv/netwright/costs.example.com/assets/plugins.tgz"] = archive
	for name, program := range agents {
		copies[home+"/agents/"+name] = program
	}
	fabric := node.NewFabric(b)
	for _, hop := range []int{firstHop, otherHop} {
		add := exec.Command("ip", "-n", filepath.Base(fabric.Netns()), "address", "add", fmt.Sprintf("10.77.0.%d/24", hop), "dev", "br0")
		if out, err := add.CombinedOutput(); err != nil {
			b.Fatalf("a neighbour: %v\n%s", err, out)
		}
	}
	n := fabric.Prepare(b, node.Options{Name: "node-1", Address: "10.77.0.11", OwnDisk: true, Copies: copies, Files: map[string]string{
		"/etc/systemd/system/netwright-agent.service": string(unit), costedDoc: classes[0].doc,
		"/srv/netwright/costs.example.com/nodes/node-1.yaml": costedNode,
		"/etc/netwright/agent.yaml":                          "store: /srv/netwright\nnode: node-1\n",
	}})
	n.Boot(b.Context())
	n.Must(b.Context(), "systemctl", "enable", "netwright-agent")
	c := costed{n, b}
	for name := range agents {
		c.install(b.Context(), name)
	}
	c.once(b.Context())
	return c
}

// install installs the agent that is measured next.
func (n costed) install(ctx context.Context, name string) {
	n.Shell(ctx, "systemctl stop netwright-agent; install -m 755 "+home+"/agents/"+name+" /usr/bin/netwright")
}

func (n costed) write(doc string) {
	if err := os.WriteFile(filepath.Join(n.Root(), costedDoc), []byte(doc), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// once measures a pass. Round in its result counts the checkpoints.
func (n costed) once(ctx context.Context) sample {
	before := n.taken(ctx)
	m := machine{Node: n.Node, t: n.t}
	s := m.measure(ctx, "/usr/bin/netwright", "--once")
	if s.Code != 0 {
		n.t.Errorf("exit %d: %s", s.Code, m.said())
	}
	s.Round = n.taken(ctx) - before
	return s
}

// taken counts the checkpoints of this boot.
func (n costed) taken(ctx context.Context) int {
	return strings.Count(n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-undo-now.timer"), "Started ")
}

func (n costed) restarted(ctx context.Context) sample {
	awaitQuiet(ctx, *patience)
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	return n.ready(ctx)
}

// ready measures the time from the start of the daemon's process until it says that it is ready,
// and the time that its threads ran until the benchmark could look.
func (n costed) ready(ctx context.Context) sample {
	at := func(name string) time.Duration {
		text := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "--value", "-p", name, "netwright-agent"))
		us, err := strconv.ParseInt(text, 10, 64)
		if err != nil || us == 0 {
			n.t.Fatalf("%s is %q", name, text)
		}
		return time.Duration(us) * time.Microsecond
	}
	ran := time.Duration(0)
	for line := range strings.Lines(n.Shell(ctx, "cat /proc/$(systemctl show -P MainPID netwright-agent)/task/*/schedstat")) {
		ns, _ := strconv.ParseInt(strings.Fields(line)[0], 10, 64)
		ran += time.Duration(ns)
	}
	return sample{User: ran, Wall: at("ActiveEnterTimestampMonotonic") - at("ExecMainStartTimestampMonotonic")}
}
