package witness

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Document is one change of a configuration that works, and the node that it meets. It is drawn
// from a seed and its number alone.
type Document struct {
	Seed    uint64
	Number  int
	Stratum string
	Ground  Ground
	Reboots bool   // it says something of the next boot: the node is booted once more
	Level   string // "Cluster", "NodeGroup" or "Node": which document says it
	Change
}

// Ground is how the node is that a document meets, and what befalls the agent.
type Ground struct {
	Networkd bool // manages host0; else `ip -batch /etc/lab-network` sets it up at boot
	Far      bool // API server and name server are beyond the gateway; else on the link
	OnLink6  bool // no default route of IPv6
	Leased   bool // networkd has the address of IPv4 from a server, for half a minute at a time
	// Kill ends the agent by SIGKILL so many milliseconds after it armed a checkpoint; 0: not.
	Kill   int
	NoExec bool // no program can be run below /var/lib/netwright
}

// Change is what a document says beside what all say. The zero value is the good configuration.
type Change struct {
	Sysctls []Sysctl
	Files   []File
	Hooks   []Hook
	Peers   []Peer
}

// File is an entry of fileAssets.
type File struct{ Path, Content string }

// Hook is an entry of hooks.
type Hook struct {
	Name          string
	Manifest      string // "": a unit that is there
	BeforeKubelet bool
}

// Peer is another member of the network, to whose pods a route leads.
type Peer struct {
	Name, Address string
	PodCIDRs      []string
}

// draw is one stratum's turn: dice, and what it may speak of.
type draw struct {
	*rand.Rand
	world  World
	ground Ground
	// wild draws values from the whole range, from its ends rather than its middle; else they are
	// those of now, or near.
	wild bool
}

// stratum is a part of what documents can say, of which every one has its turn.
type stratum struct {
	name     string
	wild     int // how many of twenty in a row
	far      int // percent of its documents whose API server and name server are beyond the gateway
	networkd int // percent of its documents that meet a node under networkd
	leased   int // percent of these
	reboots  bool
	change   func(draw) Change
}

var strata = []stratum{
	{"sysctl", 13, 30, 50, 10, false, draw.sysctls},
	{"file", 16, 30, 50, 10, true, draw.files},
	{"route", 14, 80, 50, 10, false, draw.routes}, // on the link a range of pods is refused
	{"hook", 14, 30, 50, 10, true, draw.hooks},
	{"name", 11, 30, 50, 10, false, draw.names},
	{"link manager", 14, 30, 100, 50, true, draw.uplink},
	{"boot file", 16, 30, 15, 10, true, draw.bootFiles},
}

// Draw draws a document. The same kernel, seed and number give the same one, whatever was drawn
// before. Which stratum has its turn, and whether wildly, goes round: of seven in a row few are
// tame.
func Draw(w World, seed uint64, number int) Document {
	s := strata[number%len(strata)]
	d := draw{Rand: rand.New(rand.NewPCG(seed, uint64(number))), world: w}
	d.wild = (number/len(strata)+number%len(strata))*s.wild%20 < s.wild
	d.ground = Ground{Networkd: d.percent(s.networkd), Far: d.percent(s.far), OnLink6: d.percent(50)}
	d.ground.Leased = d.ground.Networkd && d.percent(s.leased)
	if d.percent(15) {
		d.ground.Kill, d.ground.NoExec = 300+d.IntN(1500), d.percent(80)
	}
	level := pick(d, "Cluster", "NodeGroup", "Node")
	return Document{Seed: seed, Number: number, Stratum: s.name, Ground: d.ground,
		Reboots: s.reboots, Level: level, Change: s.change(d)}
}

func (d draw) percent(n int) bool { return d.IntN(100) < n }

// pick takes one of several.
func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

const (
	clusterName = "witness.example.com"
	nodeName    = "node-1"
)

// Texts are the documents of the cluster, by path in the store. assets is the field of that name.
func (d Document) Texts(assets string) map[string]string {
	specs := map[string]string{
		"Cluster": `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 0.0.0.0/0
  update: {splay: 0s, bootUndo: reboot}
` + networking(d.Peers) + assets,
		"NodeGroup": "  role: Node\n",
		"Node":      "  nodeGroup: nodes\n  address: " + node4 + "\n  podCIDRs: [10.244.1.0/24]\n",
	}
	specs[d.Level] += d.Change.spec()
	text := func(kind, name string) string {
		return "apiVersion: netwright.dev/v1alpha1\nkind: " + kind +
			"\nmetadata:\n  name: " + name + "\nspec:\n" + specs[kind]
	}
	return map[string]string{
		"cluster.yaml":                text("Cluster", clusterName),
		"nodegroups/nodes.yaml":       text("NodeGroup", "nodes"),
		"nodes/" + nodeName + ".yaml": text("Node", nodeName),
	}
}

func networking(peers []Peer) string {
	if len(peers) == 0 {
		return "  networking: {bridge: {}}\n"
	}
	text := "  networking:\n    bridge:\n      nodes:\n"
	for _, p := range peers {
		text += fmt.Sprintf("      - {name: %s, address: %q, podCIDRs: [%s]}\n", p.Name,
			p.Address, strings.Join(p.PodCIDRs, ", "))
	}
	return text
}

// spec is what the change adds to a spec, but for the peers.
func (c Change) spec() string {
	var out strings.Builder
	list := func(name string, lines []string) {
		if len(lines) > 0 {
			out.WriteString("  " + name + ":\n" + strings.Join(lines, ""))
		}
	}
	var sysctls, files, hooks []string
	for _, s := range c.Sysctls {
		sysctls = append(sysctls, "  - "+strconv.Quote(s.Key+"="+s.Value)+"\n")
	}
	for _, f := range c.Files {
		files = append(files, fmt.Sprintf("  - path: %s\n    mode: \"0644\"\n    content: %s\n",
			f.Path, strconv.Quote(f.Content)))
	}
	for _, h := range c.Hooks {
		text := fmt.Sprintf("  - name: %s\n    manifest: %s\n", h.Name, strconv.Quote(h.Manifest))
		if h.BeforeKubelet {
			text += "    before: [kubelet.service]\n"
		}
		hooks = append(hooks, text)
	}
	list("sysctlParameters", sysctls)
	list("fileAssets", files)
	list("hooks", hooks)
	return out.String()
}

// String is the document for whoever wants to try it again.
func (d Document) String() string {
	text := fmt.Sprintf("document %d of seed %d: %s, said by the %s; %+v\n%s", d.Number, d.Seed,
		d.Stratum, d.Level, d.Ground, d.Change.spec())
	if len(d.Peers) > 0 {
		text += networking(d.Peers)
	}
	return text
}

// byName takes what comes twice by one name only once: lists of documents have no key twice.
func byName[T any](list []T, name func(T) string) []T {
	out := map[string]T{}
	for _, x := range list {
		out[name(x)] = x
	}
	var sorted []T
	for _, key := range slices.Sorted(maps.Keys(out)) {
		sorted = append(sorted, out[key])
	}
	return sorted
}

// assetSpec names the archive of the CNI plugins.
func assetSpec(sum, url string) string {
	return fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch: {%s: {sha256: %q, urls: [%s]}}\n",
		runtime.GOARCH, sum, url)
}
