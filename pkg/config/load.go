package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/problem"
)

// Load returns the configuration of the selected node. It decodes the documents strictly, merges
// them in the order cluster → node group → node, fills in defaults, and validates the result. It
// reports all problems at once. If the diagnostics have an error, the Node is nil. With warnings
// only, the Node can be used. Errors are permanent: the same sources fail again.
func Load(kinds []string, sources []document.Source, sel Select, files ...blob.Named) (*Node, document.Diagnostics) {
	l := newLoader(kinds, sources, files)
	n := l.load(sel)
	diags := l.diagnostics()
	if diags.HasErrors() {
		return nil, diags
	}
	return n, diags
}

// CheckAll loads each node group and each node of a store, and returns all diagnostics about all
// documents. It is for a CI job before a merge. What a new release refuses for the first time is an
// error only here. For [Load] it is a warning, and only the one file or hook fails on the node.
func CheckAll(kinds []string, sources []document.Source, files ...blob.Named) document.Diagnostics {
	l := newLoader(kinds, sources, files)
	l.checks = true
	for _, doc := range l.groups {
		_, name := kindOf(doc.Path)
		l.load(Select{Group: name})
	}
	if len(l.groups) == 0 {
		l.load(Select{})
	}
	l.skipPeers = true // they were read already, as peers
	for _, doc := range l.nodes {
		_, name := kindOf(doc.Path)
		doc.Parse()
		sel := Select{Node: name, Group: doc.Root.Get("spec").Get("nodeGroup").Str()}
		switch {
		case sel.Group != "" || len(l.groups) == 0:
		case len(l.groups) == 1:
			_, sel.Group = kindOf(l.groups[0].Path)
		default:
			l.member(doc) // its group is known only on the node itself: read it without merging
			continue
		}
		l.load(sel)
	}
	if !l.diagnostics().HasErrors() {
		l.leftOut()
	}
	return l.diagnostics()
}

func newLoader(kinds []string, sources []document.Source, files []blob.Named) *loader {
	l := &loader{kinds: kinds, docs: make(map[string]*decode.Doc), files: files,
		members: make(map[*decode.Doc]networks.Peer)}
	for _, s := range sources {
		doc := decode.NewDoc(s)
		kind, _ := kindOf(s.Path)
		doc.Kind = kind
		switch {
		case kind == "":
			l.stray(s.Path)
			continue
		case l.docs[s.Path] != nil:
			l.lost(document.Diagnostic{Severity: document.SeverityError, ID: problem.DocumentMissing,
				Origin: document.Origin{File: s.Path}, Summary: "the store gives this document twice"})
			continue
		case kind == decode.KindCluster:
			l.cluster = before(l.cluster, doc)
		case kind == decode.KindNodeGroup:
			l.groups = append(l.groups, doc)
		case kind == decode.KindNode:
			l.nodes = append(l.nodes, doc)
		case kind == kops.KindNodeup:
			l.nodeups = append(l.nodeups, doc)
		}
		l.docs[s.Path] = doc
	}
	l.groups = slices.DeleteFunc(l.groups, func(doc *decode.Doc) bool { // drop kOps' document if another has its name
		_, name := kindOf(doc.Path)
		return kops.From(doc.Path) && l.group(name) != doc
	})
	byPath := func(a, b *decode.Doc) int { return strings.Compare(a.Path, b.Path) }
	slices.SortStableFunc(l.groups, byPath)
	slices.SortStableFunc(l.nodes, byPath)
	return l
}

// before returns which of two documents of a cluster is read. a may be nil.
func before(a, b *decode.Doc) *decode.Doc {
	order := append([]string{"cluster.yaml"}, kops.Clusters...)
	if a == nil || slices.Index(order, b.Path) < slices.Index(order, a.Path) {
		return b
	}
	return a
}

// group returns a node group's document, or nil if there is none.
func (l *loader) group(name string) *decode.Doc {
	return cmp.Or(l.docs["nodegroups/"+name+".yaml"], l.docs["instancegroup/"+name])
}

// stray warns about a file that looks like a misplaced document. Other files of a store, such as
// pki and assets, are not checked.
func (l *loader) stray(file string) {
	base := strings.TrimSuffix(strings.TrimSuffix(file, ".yml"), ".yaml")
	if base == file || strings.Count(file, "/") > 1 || strings.HasPrefix(file, "pki/") ||
		strings.HasPrefix(file, "assets/") {
		return
	}
	l.lost(document.Diagnostic{Severity: document.SeverityWarning, ID: problem.DocumentNotRead,
		Origin: document.Origin{File: file}, Summary: "this file is not read",
		Expected: "cluster.yaml, nodegroups/<group>.yaml or nodes/<node>.yaml"})
}

// diagnostics returns all diagnostics in the order of documents and lines.
func (l *loader) diagnostics() document.Diagnostics {
	all := slices.Clone(l.loose)
	for _, doc := range slices.Concat([]*decode.Doc{l.cluster}, l.groups, l.nodeups, l.nodes) {
		if doc == nil {
			continue
		}
		slices.SortStableFunc(doc.Diags, func(a, b document.Diagnostic) int {
			return cmp.Or(a.Origin.Line-b.Origin.Line, a.Origin.Column-b.Origin.Column)
		})
		all = append(all, doc.Diags...)
	}
	return all
}

func (l *loader) load(sel Select) *Node {
	n := &Node{Name: sel.Node, NodeGroup: sel.Group, Role: kops.RoleNode, origins: make(decode.Origins, 64)}
	if sel.Node != "" && decode.ValidName(sel.Node) != "" {
		diag := document.Diagnostic{Severity: document.SeverityError, ID: problem.NodeGroupUnknown,
			Summary:  fmt.Sprintf("%q cannot be a node's name", document.Clip(sel.Node)),
			Expected: decode.ValidName(sel.Node)}
		if l.docs["nodes/"+sel.Node+".yaml"] != nil {
			diag.Origin.File = "nodes/" + sel.Node + ".yaml"
		}
		l.lost(diag)
	}
	if l.cluster == nil {
		l.lost(document.Diagnostic{Severity: document.SeverityError, ID: problem.DocumentMissing,
			Origin: document.Origin{File: "cluster.yaml"}, Summary: "the store has no cluster.yaml",
			Hint: "is the store's path right, and the cluster's name?"})
		return n
	}
	own := l.docs["nodes/"+sel.Node+".yaml"]
	group, good := l.groupOf(n, own, sel.GroupFrom)
	good = l.read(l.cluster, decode.KindCluster, n) && good
	if group != nil {
		good = l.read(group, decode.KindNodeGroup, n) && good
	}
	if doc := l.nodeupOf(n.NodeGroup, n.Role); doc != nil {
		good = l.read(doc, kops.KindNodeup, n) && good
	}
	if good && group != nil && group.Dialect.Lenient {
		l.sysctlsLast(n)
	}
	if own != nil {
		good = l.read(own, decode.KindNode, n) && good
	}
	if !good {
		return n
	}
	n.fillDefaults()
	v := validator{&decode.Reporter{Docs: l.docs, Cluster: l.cluster, Origins: n.origins, Checks: l.checks}, n}
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

// groupOf returns the document of the node's group, and sets the node's role, which must be known
// before lists that name roles are read. The document is nil if no group is selected. It returns
// false if the selected group does not exist, or if two sources name different groups.
func (l *loader) groupOf(n *Node, own *decode.Doc, from string) (*decode.Doc, bool) {
	var said *document.Value
	if own != nil {
		own.Parse()
		said = own.Root.Get("spec").Get("nodeGroup")
		if said.Str() != "" && n.NodeGroup != "" && said.Str() != n.NodeGroup {
			own.ErrorAt(said.Pos, document.Diagnostic{ID: problem.NodeGroupUnknown,
				Summary: fmt.Sprintf("the node's document says node group %q, %s says %q",
					document.Clip(said.Str()), cmp.Or(from, "the agent's own setting"), n.NodeGroup),
				Field: "spec.nodeGroup", Expected: "the same in both"})
			return nil, false
		}
		n.NodeGroup = cmp.Or(n.NodeGroup, said.Str())
	}
	if n.NodeGroup == "" {
		return nil, true
	}
	group := l.group(n.NodeGroup)
	if group == nil {
		diag := l.noGroup(n.NodeGroup)
		if said.Str() != "" {
			own.ErrorAt(said.Pos, diag)
		} else {
			l.lost(diag)
		}
		return nil, false
	}
	group.Parse()
	n.Role = cmp.Or(kops.RoleOf(group.Root.Get("spec").Get("role").Str()), n.Role)
	return group, true
}

func (l *loader) noGroup(wanted string) document.Diagnostic {
	var names []string
	for _, g := range l.groups {
		_, name := kindOf(g.Path)
		names = append(names, name)
	}
	diag := document.Diagnostic{Severity: document.SeverityError, ID: problem.NodeGroupUnknown, Field: "spec.nodeGroup",
		Summary: fmt.Sprintf("there is no node group %q", document.Clip(wanted)), Expected: decode.OneOf(names),
		Hint: document.DidYouMean(wanted, names)}
	if len(names) == 0 {
		diag.Expected = fmt.Sprintf("nodegroups/%s.yaml in the store, which has no node group at all",
			document.Clip(wanted))
	}
	return diag
}

// read reads one document into n. It returns false if anything in the document is wrong.
func (l *loader) read(doc *decode.Doc, kind string, n *Node) bool {
	doc.Parse()
	if !header(doc, kind) {
		return false
	}
	if doc.Dialect.Lenient {
		kops.DropUnset(doc.Root)
	}
	d := decode.Decoder{Doc: doc, Origins: n.origins, Checks: l.checks, Hints: hints{}}
	r := reader{node: n, dialect: doc.Dialect, kinds: l.kinds, files: l.files}
	before := doc.Errors
	_, fileName := kindOf(doc.Path)
	var name string
	switch kind {
	case decode.KindCluster:
		n.kops.cluster = doc.Dialect.Lenient
		readDocument(&d, &n.Cluster, "", r.cluster())
		if own := kops.ControlPlaneKubelet(doc.Root.Get("spec")); own != nil && n.kops.cluster &&
			n.Role == kops.RoleControlPlane {
			d.At(own, "spec.kubelet").Mapping(n.Kubelet.fields())
		}
	case decode.KindNodeGroup:
		readDocument(&d, &name, fileName, r.group())
	case decode.KindNode:
		readDocument(&d, &name, fileName, r.own())
	case kops.KindNodeup:
		r.nodeup(&d)
	}
	return doc.Errors == before
}
