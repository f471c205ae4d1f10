package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// kindOf says which kind of document a path must hold, and the name that its metadata must bear (""
// for the cluster: any). The empty kind: the path is not one of ours.
func kindOf(file string) (kind, name string) {
	if file == "cluster.yaml" {
		return KindCluster, ""
	}
	if kind, name = kindOfKops(file); kind != "" {
		return kind, name
	}
	dir, base := path.Split(file)
	name, isYAML := strings.CutSuffix(base, ".yaml")
	switch {
	case !isYAML || name == "":
	case dir == "nodegroups/":
		return KindNodeGroup, name
	case dir == "nodes/":
		return KindNode, name
	}
	return "", ""
}

// header checks apiVersion and kind, and sets the dialect that the rest of the document is read in.
// false: the rest means nothing.
func (d *specDocument) header(want string) bool {
	if d.Root == nil {
		return false
	}
	if d.Root.Kind != document.KindMap {
		d.ErrorAt(d.Root.Pos, document.Diagnostic{ID: problem.DocumentHeader, Summary: "the document is " + d.Root.Kind.String(), Expected: "a mapping: apiVersion, kind, metadata, spec",
			Hint: "begin it with apiVersion: " + strict.apiVersion})
		return false
	}
	if want == kindNodeup {
		d.dialect = &nodeup
		return true
	}
	version, kind := d.Root.Get("apiVersion"), d.Root.Get("kind")
	written := version.Str()
	if rest, early := strings.CutPrefix(written, kopsEarlyGroup); early {
		written = kopsGroup + rest
	}
	i := slices.IndexFunc(dialects[:], func(x *dialect) bool { return x.apiVersion == written })
	if i < 0 {
		var known []string
		for _, x := range dialects {
			known = append(known, x.apiVersion)
		}
		d.wrongHeader("apiVersion", version, known)
		return false
	}
	d.dialect = dialects[i]
	if d.dialect.kinds[kind.Str()] == want {
		return true
	}
	var names []string
	for written, means := range d.dialect.kinds {
		if means == want {
			names = append(names, written)
		}
	}
	if len(names) == 0 {
		d.ErrorAt(kindPos(d.Root, kind), document.Diagnostic{ID: problem.DocumentHeader, Summary: fmt.Sprintf("%s has no kind %s", d.dialect.apiVersion, want), Field: "apiVersion",
			Expected: "apiVersion: " + strict.apiVersion})
		return false
	}
	d.wrongHeader("kind", kind, names)
	return false
}

func kindPos(root, v *document.Value) document.Pos {
	if v == nil {
		return root.Pos
	}
	return v.Pos
}

func (d *specDocument) wrongHeader(name string, v *document.Value, allowed []string) {
	diag := document.Diagnostic{ID: problem.DocumentHeader, Field: name, Expected: oneOf(allowed)}
	switch {
	case v == nil:
		diag.Summary = name + " is missing"
		for i := range d.Root.Entries { // what is there in its place
			if e := &d.Root.Entries[i]; !slices.Contains(headerFields, e.Key) && document.Nearest(e.Key, headerFields) == name {
				diag.Summary, diag.Hint = fmt.Sprintf("%s is missing: the field here is %q", name, document.Clip(e.Key)), also(fmt.Sprintf("did you mean %q?", name), e.Key)
				diag.ID = problem.FieldUnknown
				d.ErrorAt(e.Pos, diag)
				return
			}
		}
	case v.Kind != document.KindString:
		diag.Summary = name + " is " + v.Kind.String()
	default:
		diag.Summary = fmt.Sprintf("%s is %q", name, document.Clip(v.Text))
		if near := document.Nearest(v.Text, allowed); near != "" {
			diag.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		diag.Hint = also(diag.Hint, v.Text)
	}
	d.ErrorAt(kindPos(d.Root, v), diag)
}

// readDocument reads the whole document onto n: metadata into name, spec by the given fields.
func readDocument(d *decoder, name *string, fileName string, spec []field) {
	metadata := []field{
		{name: "name", set: Text(name, validName)},
		{name: "labels", set: Unread},
		{name: "annotations", set: Unread},
	}
	header := decoder{doc: d.doc, origins: make(origins), home: d.home} // every document has one: only the cluster's is worth remembering
	header.mapping(d.doc.Root, "", []field{
		{name: "apiVersion", set: Unread},
		{name: "kind", set: Unread},
		{name: "metadata", set: func(_ *decoder, v *document.Value, at string) { header.mapping(v, at, metadata) }},
		{name: "spec", set: func(_ *decoder, v *document.Value, at string) { d.mapping(v, at, spec) }},
	})
	if fileName == "" {
		d.origins["metadata.name"], d.origins["spec"] = header.origins["metadata.name"], header.origins["spec"]
	}
	written := d.doc.Root.Get("metadata").Get("name")
	switch {
	case written == nil:
		d.doc.ErrorAt(d.doc.Root.Pos, document.Diagnostic{ID: problem.DocumentHeader, Summary: "metadata.name is missing", Field: "metadata.name", Expected: "metadata: {name: …}"})
	case fileName != "" && written.Str() != fileName && written.Kind == document.KindString:
		d.doc.ErrorAt(written.Pos, document.Diagnostic{ID: problem.DocumentHeader, Summary: fmt.Sprintf("the document's name is %q, its file's is %q", document.Clip(written.Text), fileName),
			Field: "metadata.name", Expected: "the same name in both", Hint: "rename the one that is wrong"})
	}
}
