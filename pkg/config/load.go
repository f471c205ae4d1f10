package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
)

// Load makes the configuration of the selected node: the documents decoded strictly, merged cluster
// → node group → node, filled with defaults and validated. It complains about everything at once;
// with an error among the diagnostics the Node is nil, with warnings only it is good to use. Errors
// are permanent: the same sources fail again.
//
// Only the documents that matter to this node are read: cluster.yaml, its node group, its own, and
// the other nodes' where the network routes to them. [CheckAll] reads them all.
//
// Kinds are the kinds of keys that spec.drift may name. Files are what documents name by source,
// sorted by name.
func Load(kinds []string, sources []Source, sel Select, files ...host.Named) (*Node, Diagnostics) {
	l := newLoader(kinds, sources, files)
	n := l.load(sel)
	diags := l.diagnostics()
	if diags.HasErrors() {
		return nil, diags
	}
	return n, diags
}

// CheckAll loads every node group and every node of a store, and gives all that there is to say
// about any document: what a CI job wants to know before a merge. What a release newly refuses is
// an error here alone: for [Load] it is a warning, and the one file or hook fails on the node.
func CheckAll(kinds []string, sources []Source, files ...host.Named) Diagnostics {
	l := newLoader(kinds, sources, files)
	l.checks = true
	for _, doc := range l.groups {
		_, name := kindOf(doc.path)
		l.load(Select{Group: name})
	}
	if len(l.groups) == 0 {
		l.load(Select{})
	}
	l.skipPeers = true // seen already, as peers of nobody in particular
	for _, doc := range l.nodes {
		_, name := kindOf(doc.path)
		doc.parse()
		sel := Select{Node: name, Group: doc.root.get("spec").get("nodeGroup").str()}
		switch {
		case sel.Group != "" || len(l.groups) == 0:
		case len(l.groups) == 1:
			_, sel.Group = kindOf(l.groups[0].path)
		default:
			l.member(doc) // its group is known only where it runs: read it without merging
			continue
		}
		l.load(sel)
	}
	if !l.diagnostics().HasErrors() {
		l.leftOut()
	}
	return l.diagnostics()
}

// loader keeps the documents of one store, each parsed at most once.
type loader struct {
	kinds         []string // of keys: what spec.drift may name
	docs          map[string]*document
	files         []host.Named // no documents, but what documents name by source; sorted
	cluster       *document
	groups, nodes []*document // by path
	nodeups       []*document // of kOps' own store
	members       map[*document]Peer
	skipPeers     bool
	checks        bool        // see [decoder.checks]
	loose         Diagnostics // about no document in particular
}

func newLoader(kinds []string, sources []Source, files []host.Named) *loader {
	l := &loader{kinds: kinds, docs: make(map[string]*document), files: files, members: make(map[*document]Peer)}
	for _, s := range sources {
		kind, _ := kindOf(s.Path)
		doc := newDocument(s)
		switch {
		case kind == "":
			l.stray(s.Path)
			continue
		case l.docs[s.Path] != nil:
			l.lost(Diagnostic{Severity: SeverityError, ID: problem.DocumentMissing, Origin: Origin{File: s.Path}, Summary: "the store gives this document twice"})
			continue
		case kind == KindCluster:
			l.cluster = before(l.cluster, doc)
		case kind == KindNodeGroup:
			l.groups = append(l.groups, doc)
		case kind == KindNode:
			l.nodes = append(l.nodes, doc)
		case kind == kindNodeup:
			l.nodeups = append(l.nodeups, doc)
		}
		l.docs[s.Path] = doc
	}
	l.groups = slices.DeleteFunc(l.groups, func(doc *document) bool { // ours comes before kOps' of the same name
		_, name := kindOf(doc.path)
		return fromKops(doc.path) && l.group(name) != doc
	})
	byPath := func(a, b *document) int { return strings.Compare(a.path, b.path) }
	slices.SortFunc(l.groups, byPath)
	slices.SortFunc(l.nodes, byPath)
	return l
}

// before is the one of two documents of a cluster that is read. The first may be nil.
func before(a, b *document) *document {
	order := append([]string{"cluster.yaml"}, KopsClusters...)
	if a == nil || slices.Index(order, b.path) < slices.Index(order, a.path) {
		return b
	}
	return a
}

// group is a node group's document; nil: there is none.
func (l *loader) group(name string) *document {
	if doc := l.docs["nodegroups/"+name+".yaml"]; doc != nil {
		return doc
	}
	return l.docs["instancegroup/"+name]
}

// stray warns about a file that looks like a document in the wrong place; everything else in a
// store (pki, assets) is not ours to judge.
func (l *loader) stray(file string) {
	base := strings.TrimSuffix(strings.TrimSuffix(file, ".yml"), ".yaml")
	if base == file || strings.Count(file, "/") > 1 || strings.HasPrefix(file, "pki/") || strings.HasPrefix(file, "assets/") {
		return
	}
	l.lost(Diagnostic{Severity: SeverityWarning, ID: problem.DocumentNotRead, Origin: Origin{File: file}, Summary: "this file is not read",
		Expected: "cluster.yaml, nodegroups/<group>.yaml or nodes/<node>.yaml"})
}

// lost keeps a diagnostic that has no line.
func (l *loader) lost(d Diagnostic) {
	if !slices.Contains(l.loose, d) {
		l.loose = append(l.loose, d)
	}
}

// diagnostics in the order of documents and lines.
func (l *loader) diagnostics() Diagnostics {
	all := slices.Clone(l.loose)
	for _, doc := range slices.Concat([]*document{l.cluster}, l.groups, l.nodeups, l.nodes) {
		if doc == nil {
			continue
		}
		slices.SortStableFunc(doc.diags, func(a, b Diagnostic) int {
			if a.Origin.Line != b.Origin.Line {
				return a.Origin.Line - b.Origin.Line
			}
			return a.Origin.Column - b.Origin.Column
		})
		all = append(all, doc.diags...)
	}
	return all
}

func (l *loader) load(sel Select) *Node {
	n := &Node{Name: sel.Node, NodeGroup: sel.Group, Role: RoleNode, origins: make(origins, 64)}
	if sel.Node != "" && validName(sel.Node) != "" {
		diag := Diagnostic{Severity: SeverityError, ID: problem.NodeGroupUnknown, Summary: fmt.Sprintf("%q cannot be a node's name", clip(sel.Node)), Expected: validName(sel.Node)}
		if l.docs["nodes/"+sel.Node+".yaml"] != nil {
			diag.Origin.File = "nodes/" + sel.Node + ".yaml"
		}
		l.lost(diag)
	}
	if l.cluster == nil {
		l.lost(Diagnostic{Severity: SeverityError, ID: problem.DocumentMissing, Origin: Origin{File: "cluster.yaml"}, Summary: "the store has no cluster.yaml",
			Hint: "is the store's path right, and the cluster's name?"})
		return n
	}
	own := l.docs["nodes/"+sel.Node+".yaml"]
	group, good := l.groupOf(n, own)
	good = l.read(l.cluster, KindCluster, n) && good
	if group != nil {
		good = l.read(group, KindNodeGroup, n) && good
	}
	if doc := l.nodeupOf(n.NodeGroup, n.Role); doc != nil {
		good = l.read(doc, kindNodeup, n) && good
	}
	if own != nil {
		good = l.read(own, KindNode, n) && good
	}
	if !good {
		return n
	}
	n.fillDefaults()
	v := validator{loader: l, node: n}
	v.versions()
	if !v.network() {
		return n
	}
	v.all()
	switch {
	case n.Networking.Bridge != nil:
		v.members(l.peers(n))
	case n.Networking.Kubenet != nil:
		n.Size = l.size()
	}
	return n
}

// groupOf finds the node's group, and its role, which must be known before lists that name roles
// are read. It is nil when no group is selected; false when the selected one cannot be had.
func (l *loader) groupOf(n *Node, own *document) (*document, bool) {
	var said *value
	if own != nil {
		own.parse()
		said = own.root.get("spec").get("nodeGroup")
		if said.str() != "" && n.NodeGroup != "" && said.str() != n.NodeGroup {
			own.errorAt(said.pos, Diagnostic{ID: problem.NodeGroupUnknown, Summary: fmt.Sprintf("the node's document says node group %q, the agent was told %q", clip(said.str()), n.NodeGroup),
				Field: "spec.nodeGroup", Expected: "the same in both"})
			return nil, false
		}
		n.NodeGroup = cmp.Or(n.NodeGroup, said.str())
	}
	if n.NodeGroup == "" {
		return nil, true
	}
	group := l.group(n.NodeGroup)
	if group == nil {
		diag := l.noGroup(n.NodeGroup)
		if said.str() != "" {
			own.errorAt(said.pos, diag)
		} else {
			l.lost(diag)
		}
		return nil, false
	}
	group.parse()
	n.Role = cmp.Or(roleOf(group.root.get("spec").get("role").str()), n.Role)
	return group, true
}

func (l *loader) noGroup(wanted string) Diagnostic {
	var names []string
	for _, g := range l.groups {
		_, name := kindOf(g.path)
		names = append(names, name)
	}
	diag := Diagnostic{Severity: SeverityError, ID: problem.NodeGroupUnknown, Field: "spec.nodeGroup", Summary: fmt.Sprintf("there is no node group %q", clip(wanted)), Expected: oneOf(names)}
	if len(names) == 0 {
		diag.Expected = fmt.Sprintf("nodegroups/%s.yaml in the store, which has no node group at all", clip(wanted))
	}
	if near := nearest(wanted, names); near != "" {
		diag.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return diag
}

// read puts what one document says onto n; false when anything in it is wrong.
func (l *loader) read(doc *document, kind string, n *Node) bool {
	doc.parse()
	if !doc.header(kind) {
		return false
	}
	d := decoder{doc: doc, origins: n.origins, kinds: l.kinds, files: l.files, checks: l.checks}
	before := doc.errors
	_, fileName := kindOf(doc.path)
	var name string
	switch kind {
	case KindCluster:
		n.kops.cluster = doc.dialect.lenient
		d.document(&n.Cluster, "", d.clusterSpec(n))
	case KindNodeGroup:
		d.document(&name, fileName, d.groupSpec(n))
	case KindNode:
		d.document(&name, fileName, d.nodeSpec(n))
	case kindNodeup:
		d.nodeup(n)
	}
	return doc.errors == before
}
