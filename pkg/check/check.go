// Package check finds what is wrong with the documents of a store, for all the nodes that they are
// for: it builds their tasks for an ordinary machine, or for saved facts, and changes nothing.
package check

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/keypairs"
	"github.com/netwright/netwright/pkg/tasks"
)

// Checked is what a check of one cluster found.
type Checked struct {
	Cluster     string               `json:"cluster"`
	Diagnostics document.Diagnostics `json:"diagnostics"`
	Nodes       []CheckedNode        `json:"nodes"`
	// Findings are what the plans of the nodes would warn of or fail with, and what the store lacks
	// for them: each once, with all that it concerns.
	Findings []Finding `json:"findings"`
	// Notes are what lies in the store and was not read.
	Notes []string `json:"notes,omitempty"`
	// Exposed are the objects of a published store with private keys of CAs that every node can
	// read.
	Exposed []string `json:"exposed,omitempty"`
	// Revision is what was checked.
	Revision statestore.Revision `json:"-"`
	// Assets are the archives that nodes ask the store for, by path relative to the cluster.
	Assets []string `json:"-"`
}

// CheckedNode is one node group, or one node of it, whose tasks were built and ordered.
type CheckedNode struct {
	NodeGroup string `json:"nodeGroup,omitempty"`
	Node      string `json:"node,omitempty"`
	Network   string `json:"network,omitempty"`
	Tasks     int    `json:"tasks"`
	Error     string `json:"error,omitempty"`
	// Notes are what could not be judged here and is no error.
	Notes []string `json:"notes,omitempty"`

	keysets    []string // whose private keys it uses
	signingCAs []string // of these, those of the CAs that a control plane node signs with
}

// Withhold takes from the objects of a cluster the private keys that no node uses, and those of CAs
// that no control plane node signs with: who publishes gives them to nobody. It returns the names
// of the keysets.
func (c *Checked) Withhold(objects map[string][]byte) (keysets []string) {
	var used, signs []string
	for _, n := range c.Nodes {
		used, signs = append(used, n.keysets...), append(signs, n.signingCAs...)
	}
	// of what is damaged nobody knows what it is
	pairs, _ := keypairs.Of(objects)
	for name := range objects {
		rest, private := strings.CutPrefix(name, "pki/private/")
		keyset, _, _ := strings.Cut(rest, "/")
		pair, known := pairs[keyset]
		authority := !known
		if chain, err := certs.Parse(pair.Cert); err == nil {
			authority = chain[0].IsCA
		}
		if !private || slices.Contains(signs, keyset) || !authority && slices.Contains(used, keyset) {
			continue
		}
		delete(objects, name)
		if !slices.Contains(keysets, keyset) {
			keysets = append(keysets, keyset)
		}
	}
	slices.Sort(keysets)
	return keysets
}

// ControlPlaneKeys are the names of the objects with private keys of CAs that control plane nodes
// sign with: no other node may read them.
func (c *Checked) ControlPlaneKeys(objects map[string][]byte) (names []string) {
	for name := range objects {
		rest, private := strings.CutPrefix(name, "pki/private/")
		keyset, _, _ := strings.Cut(rest, "/")
		if private &&
			slices.ContainsFunc(c.Nodes, func(n CheckedNode) bool { return slices.Contains(n.signingCAs, keyset) }) {
			names = append(names, name)
		}
	}
	return names
}

// OK says that nothing is wrong; warnings are not.
func (c *Checked) OK() bool {
	if c.Diagnostics.HasErrors() {
		return false
	}
	failed := func(f Finding) bool { return f.Severity == document.SeverityError }
	return !slices.ContainsFunc(c.Nodes, func(n CheckedNode) bool { return n.Error != "" }) &&
		!slices.ContainsFunc(c.Findings, failed)
}

// Warns says that there is a warning, which is no error unless somebody wants it so; strict says
// that somebody does. A field that is newer than some agents is none then: nothing in the documents
// can be mended about it.
func (c *Checked) Warns(strict bool) bool {
	said := func(d document.Diagnostic) bool {
		return d.Severity != document.SeverityNote && !(strict && d.ID == problem.FieldNewer)
	}
	return slices.ContainsFunc(c.Diagnostics, said) || len(c.Findings) > 0 || len(c.Notes) > 0 || len(c.Exposed) > 0
}

// Check validates a cluster off-host: every document, and for every node group and node the tasks
// that it makes on a host with these facts. A CI job runs it before a merge. It touches no host and
// fetches no asset; those that lie in the store itself it reads. Without facts it takes those of an
// ordinary node.
func Check(ctx context.Context, store statestore.Store, facts *host.Facts) (*Checked, error) {
	assumed := facts == nil
	if assumed {
		facts = DefaultFacts()
	}
	snap, err := store.Fetch(ctx, statestore.Revision{})
	if err != nil {
		return nil, fmt.Errorf("fetch the configuration: %w", err)
	}
	out := &Checked{
		Cluster: snap.Cluster, Diagnostics: config.CheckAll(tasks.DriftKinds(), desired.Sources(snap), snap.Files...),
		Nodes: []CheckedNode{}, Findings: []Finding{}, Notes: snap.Notes, Revision: snap.Revision,
	}
	if out.Diagnostics == nil {
		out.Diagnostics = document.Diagnostics{} // in JSON a list, also when it is empty
	}
	if out.Diagnostics.HasErrors() {
		return out, nil
	}
	c := checker{store: store, facts: facts, assumed: assumed, now: time.Now(),
		findings: findings{sources: desired.Sources(snap)}}
	for _, sel := range Nodes(snap) {
		out.Nodes = append(out.Nodes, c.node(ctx, sel))
	}
	if !slices.ContainsFunc(out.Nodes, func(n CheckedNode) bool { return n.Error != "" }) {
		c.assetsUnused()
	}
	out.Findings = append(out.Findings, sorted(c.all)...)
	out.Assets = c.stored
	out.Exposed, err = exposed(ctx, snap)
	return out, err
}

// Nodes are the node groups and nodes that a store has documents of.
func Nodes(snap *statestore.Snapshot) (all []config.Select) {
	for _, p := range slices.Sorted(maps.Keys(snap.Objects)) {
		name := strings.TrimSuffix(path.Base(p), ".yaml")
		switch path.Dir(p) {
		case "nodegroups", "instancegroup": // ours and kOps'
			all = append(all, config.Select{Group: name})
		case "nodes":
			all = append(all, config.Select{Node: name})
		}
	}
	if len(all) == 0 { // the cluster's document alone speaks for every node
		all = []config.Select{{}}
	}
	return all
}

// exposed are the private keys of CAs that a published store shows to every node: a worker needs
// none of them.
func exposed(ctx context.Context, s *statestore.Snapshot) (names []string, err error) {
	if s.ReadByAll == nil {
		return nil, nil
	}
	pairs, _ := keypairs.Of(s.Objects) // of what is damaged nobody knows what it is
	private := slices.Collect(maps.Keys(s.Objects))
	for _, object := range s.Private {
		private = append(private, object.Name)
	}
	for _, name := range slices.Sorted(slices.Values(private)) {
		rest, isPrivate := strings.CutPrefix(name, "pki/private/")
		keyset, _, _ := strings.Cut(rest, "/")
		if chain, err := certs.Parse(pairs[keyset].Cert); !isPrivate || err != nil || !chain[0].IsCA {
			continue
		}
		open, err := s.ReadByAll(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("look whether every node can read %q: %w", name, err)
		}
		if open {
			names = append(names, name)
		}
	}
	return names, nil
}

// checker checks the nodes of one cluster.
type checker struct {
	store   statestore.Store
	facts   *host.Facts
	assumed bool // the facts are of no host
	now     time.Time
	findings
}

func (c *checker) node(ctx context.Context, sel config.Select) CheckedNode {
	out := CheckedNode{NodeGroup: sel.Group, Node: sel.Node}
	d, err := desired.Load(ctx, c.store, sel, statestore.Revision{})
	if err != nil {
		out.Error = err.Error()
		c.fail(out.Subject(), err)
		return out
	}
	out.NodeGroup, out.Network = d.Node.NodeGroup, d.Node.Networking.Name()
	out.keysets = network.Keypairs(d.Node)
	if d.Node.ControlPlane() {
		out.signingCAs = network.Authorities(d.Node)
	}
	c.named(d.Snapshot, d.Node)
	out.Notes = assumeKeypairs(d)
	c.certificates(out.Subject(), d, out.keysets, c.now)
	g, notes, err := d.Graph(c.facts, model.Discovered{}, nil)
	c.notes(out.Subject(), notes, c.assumed)
	if err != nil {
		out.Error = err.Error()
		c.fail(out.Subject(), err)
		return out
	}
	out.Tasks = g.Len()
	c.assetsAsked(d.Node.Assets, g.Order())
	c.assets(ctx, out.Subject(), c.store, g.Order())
	c.otherMachines(ctx, out.Subject(), d)
	out.Notes = append(out.Notes, changes.LinksMet(c.facts, d.Node.FollowLinks)...)
	if was := notLive(g.Order(), c.facts); was != "" {
		out.Notes = append(out.Notes, was)
	}
	return out
}

// otherMachines looks at the assets of other architectures, which other nodes of a group may have.
func (c *checker) otherMachines(ctx context.Context, who string, d *desired.State) {
	if !c.assumed {
		return
	}
	for _, arch := range []string{"amd64", "arm64"} {
		said := slices.ContainsFunc(d.Node.Assets, func(a extras.Asset) bool { return len(a.Arch[arch].URLs) > 0 })
		facts := *c.facts
		facts.Arch = arch
		if g, _, err := d.Graph(&facts, model.Discovered{}, nil); said && arch != c.facts.Arch && err == nil {
			c.assets(ctx, who, c.store, g.Order())
		}
	}
}

// Subject is the node, or the group, or all of the cluster's nodes.
func (n CheckedNode) Subject() string {
	switch {
	case n.Node != "":
		return "node " + n.Node
	case n.NodeGroup != "":
		return "node group " + n.NodeGroup
	}
	return "every node"
}

// mostNamed is how many tasks a note names.
const mostNamed = 10

// notLive names what the documents ask for by themselves and was class live before a change had to
// be proved harmless (docs/adr/0005); "" if that is nothing.
func notLive(list []tasks.Task, facts *host.Facts) string {
	var names []string
	read := tasks.ReadByUnits(list)
	for _, t := range list {
		if m := t.Base(); model.Asked(m) && !ofNodeup(m.From) && tasks.NotLive(t, facts, read) {
			names = append(names, fmt.Sprintf("%s (%s)", t.Owns()[0], m.From))
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(", and %d more", n)
	}
	return "a change of these was class live and is reload now, since nothing proves it harmless: it is made under a " +
		"checkpoint, and waits for spec.update's splay and window: " +
		strings.Join(names, ", ") + more
}

// assumeKeypairs takes the certificates of a store without a pki/ for given: documents are checked
// where private keys are not kept.
func assumeKeypairs(d *desired.State) []string {
	calico := d.Node.Networking.Calico
	if calico == nil || calico.Etcd == nil || !calico.Etcd.TLS {
		return nil
	}
	for name := range d.Snapshot.Objects {
		if strings.HasPrefix(name, "pki/") {
			return nil
		}
	}
	c := calico.Etcd.Certificates
	for _, name := range []string{c.CA, c.Keypair} {
		d.Keypairs[name] = model.Keypair{CA: []byte(c.CA), Cert: []byte(name), Origin: "assumed"}
	}
	return []string{fmt.Sprintf("the certificates of keypair %s, signed by %s, were not checked: this store has no "+
		"pki/", c.Keypair, c.CA)}
}

// DefaultFacts are those of an ordinary node, for a check without saved ones: one
// uplink, systemd, containerd 2 with its defaults, a kubelet as kubeadm's package ships it.
func DefaultFacts() *host.Facts {
	return &host.Facts{
		Hostname: "node", Arch: "amd64", Init: "systemd", Cgroup: 2, Uplink: "eth0",
		Address: netip.MustParseAddr("192.0.2.10"),
		Kernel:  host.KernelFacts{Release: "6.1.0", IPv6: true, HostSysctls: true, Modules: true, BPF: true},
		Links: []host.LinkFact{
			{Name: "lo", MTU: 65536, Up: true, Loopback: true},
			{Name: "eth0", Up: true, Physical: true, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}},
		},
		Runtime: host.RuntimeFacts{
			Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3,
			Socket: "/run/containerd/containerd.sock", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d",
			MaxConfNum: 1, From: "default",
		},
		Kubelet: host.KubeletFacts{Unit: "kubelet.service", Variables: []string{"KUBELET_EXTRA_ARGS"}},
	}
}
