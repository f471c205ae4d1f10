// Package check finds errors in the documents of a store, for all nodes that they are for. It
// builds the nodes' tasks for an ordinary machine, or for saved facts, and changes nothing.
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

// Checked is the result of a check of one cluster.
type Checked struct {
	Cluster     string               `json:"cluster"`
	Diagnostics document.Diagnostics `json:"diagnostics"`
	Nodes       []CheckedNode        `json:"nodes"`
	// Findings are the warnings and errors that the plans of the nodes would have, and what the
	// store lacks for them. Each appears once, with all nodes that it concerns.
	Findings []Finding `json:"findings"`
	// Notes are about objects in the store that were not read.
	Notes []string `json:"notes,omitempty"`
	// Exposed are private keys of CAs in a published store that every node can read.
	Exposed []string `json:"exposed,omitempty"`
	// Revision is the revision that was checked.
	Revision statestore.Revision `json:"-"`
	// Assets are the archives that nodes fetch from the store, by path relative to the cluster.
	Assets []string `json:"-"`
}

// CheckedNode is one node group or node, whose tasks were built and ordered.
type CheckedNode struct {
	NodeGroup string `json:"nodeGroup,omitempty"`
	Node      string `json:"node,omitempty"`
	Network   string `json:"network,omitempty"`
	Tasks     int    `json:"tasks"`
	Error     string `json:"error,omitempty"`
	// Notes are about what could not be checked and is no error.
	Notes []string `json:"notes,omitempty"`

	keysets    []string // whose private keys the node uses
	signingCAs []string // of these, the CAs that a control plane node signs with
}

// Withhold removes from the objects of a cluster the private keys that no node uses, and those of
// CAs that no control plane node signs with. They are not published. It returns the names of their
// keysets.
func (c *Checked) Withhold(objects map[string][]byte) (keysets []string) {
	var used, signs []string
	for _, n := range c.Nodes {
		used, signs = append(used, n.keysets...), append(signs, n.signingCAs...)
	}
	// a damaged pair counts as unknown
	pairs, _ := keypairs.Of(objects)
	for name := range objects {
		keyset, private := privateKey(name)
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

// privateKey returns the keyset of an object, and whether the object is a private key of it.
func privateKey(name string) (keyset string, is bool) {
	rest, is := strings.CutPrefix(name, "pki/private/")
	keyset, _, _ = strings.Cut(rest, "/")
	return keyset, is
}

// ControlPlaneKeys returns the names of the objects with private keys of CAs that control plane
// nodes sign with. No other node may read them.
func (c *Checked) ControlPlaneKeys(objects map[string][]byte) (names []string) {
	for name := range objects {
		keyset, private := privateKey(name)
		if private &&
			slices.ContainsFunc(c.Nodes, func(n CheckedNode) bool { return slices.Contains(n.signingCAs, keyset) }) {
			names = append(names, name)
		}
	}
	return names
}

// OK reports whether there is no error; warnings do not count.
func (c *Checked) OK() bool {
	if c.Diagnostics.HasErrors() {
		return false
	}
	failed := func(f Finding) bool { return f.Severity == document.SeverityError }
	return !slices.ContainsFunc(c.Nodes, func(n CheckedNode) bool { return n.Error != "" }) &&
		!slices.ContainsFunc(c.Findings, failed)
}

// Warns reports whether there is a warning. strict says that warnings count as errors. Then a field
// that older agents do not know is no warning, because the documents cannot be corrected for it.
func (c *Checked) Warns(strict bool) bool {
	said := func(d document.Diagnostic) bool {
		return d.Severity != document.SeverityNote && !(strict && d.ID == problem.FieldNewer)
	}
	return slices.ContainsFunc(c.Diagnostics, said) || len(c.Findings) > 0 || len(c.Notes) > 0 || len(c.Exposed) > 0
}

// Check validates a cluster without a host: each document, and for each node group and node the
// tasks that it makes on a host with these facts. A CI job runs it before a merge. It changes no
// host and fetches no asset; it reads those that are in the store itself. Without facts it uses
// those of an ordinary node.
func Check(ctx context.Context, store statestore.Store, facts *host.Facts) (*Checked, error) {
	assumed := facts == nil
	if assumed {
		facts = DefaultFacts()
	}
	store = statestore.Bounded(store)
	snap, err := store.Fetch(ctx, statestore.Revision{})
	if err != nil {
		return nil, fmt.Errorf("fetch the configuration: %w", err)
	}
	out := &Checked{
		Cluster: snap.Cluster, Diagnostics: config.CheckAll(tasks.DriftKinds(), desired.Sources(snap), snap.Files...),
		Nodes: []CheckedNode{}, Findings: []Finding{}, Notes: snap.Notes, Revision: snap.Revision,
	}
	if out.Diagnostics == nil {
		out.Diagnostics = document.Diagnostics{} // JSON needs a list, also where it is empty
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

// Nodes returns the node groups and nodes that have documents in the store.
func Nodes(snap *statestore.Snapshot) (all []config.Select) {
	for _, p := range slices.Sorted(maps.Keys(snap.Objects)) {
		name := strings.TrimSuffix(path.Base(p), ".yaml")
		switch path.Dir(p) {
		case "nodegroups", "instancegroup": // the agent's name and kOps'
			all = append(all, config.Select{Group: name})
		case "nodes":
			all = append(all, config.Select{Node: name})
		}
	}
	if len(all) == 0 { // only the cluster's document exists, and is for every node
		all = []config.Select{{}}
	}
	return all
}

// exposed returns the private keys of CAs that every node can read in a published store. A worker
// needs none of them.
func exposed(ctx context.Context, s *statestore.Snapshot) (names []string, err error) {
	if s.ReadByAll == nil {
		return nil, nil
	}
	pairs, _ := keypairs.Of(s.Objects) // a damaged pair counts as unknown
	all := slices.Collect(maps.Keys(s.Objects))
	for _, object := range s.Private {
		all = append(all, object.Name)
	}
	for _, name := range slices.Sorted(slices.Values(all)) {
		keyset, private := privateKey(name)
		if chain, err := certs.Parse(pairs[keyset].Cert); !private || err != nil || !chain[0].IsCA {
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
	assumed bool // the facts are DefaultFacts
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

// otherMachines checks the assets for other architectures, which other nodes of a group may have.
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

// Subject returns the node, or the node group, or "every node".
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

// notLive returns a note with tasks of the documents whose changes had the class live before
// changes had to be proved harmless (docs/adr/0005); "": there is none.
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

// assumeKeypairs assumes the certificates of a store without a pki/: documents are also checked
// where private keys are not stored.
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

// DefaultFacts returns the facts of an ordinary node, for a check without saved ones: one uplink,
// systemd, containerd 2 with its defaults, and a kubelet as kubeadm's package installs it.
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
