package config

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/problem"
)

// kindOf returns which kind of document a path must hold, and the name that its metadata must have.
// The name is "" for the cluster, which may have any name. The kind is "" if no document has such a
// path.
func kindOf(file string) (kind, name string) {
	if file == "cluster.yaml" {
		return decode.KindCluster, ""
	}
	if kind, name = kops.KindOf(file); kind != "" {
		return kind, name
	}
	dir, base := path.Split(file)
	name, isYAML := strings.CutSuffix(base, ".yaml")
	switch {
	case !isYAML || name == "":
	case dir == "nodegroups/":
		return decode.KindNodeGroup, name
	case dir == "nodes/":
		return decode.KindNode, name
	}
	return "", ""
}

// header checks apiVersion and kind, and sets the dialect for the rest of the document. It returns
// false if the rest cannot be read.
func header(d *decode.Doc, want string) bool {
	if d.Root == nil {
		return false
	}
	if d.Root.Kind != document.KindMap {
		d.ErrorAt(d.Root.Pos, document.Diagnostic{ID: problem.DocumentHeader,
			Summary: "the document is " + d.Root.Kind.String(), Expected: "a mapping: apiVersion, kind, metadata, spec",
			Hint: "begin it with apiVersion: " + decode.Strict.APIVersion})
		return false
	}
	if want == kops.KindNodeup {
		d.Dialect = &kops.NodeupDialect
		return true
	}
	version, kind := d.Root.Get("apiVersion"), d.Root.Get("kind")
	written := kops.Current(version.Str())
	i := slices.IndexFunc(dialects[:], func(x *decode.Dialect) bool { return x.APIVersion == written })
	if i < 0 {
		var known []string
		for _, x := range dialects {
			known = append(known, x.APIVersion)
		}
		wrongHeader(d, "apiVersion", version, known)
		return false
	}
	d.Dialect = dialects[i]
	if d.Dialect.Kinds[kind.Str()] == want {
		return true
	}
	var names []string
	for written, means := range d.Dialect.Kinds {
		if means == want {
			names = append(names, written)
		}
	}
	if len(names) == 0 {
		d.ErrorAt(cmp.Or(kind, d.Root).Pos,
			document.Diagnostic{ID: problem.DocumentHeader,
				Summary: fmt.Sprintf("%s has no kind %s", d.Dialect.APIVersion, want), Field: "apiVersion",
				Expected: "apiVersion: " + decode.Strict.APIVersion})
		return false
	}
	wrongHeader(d, "kind", kind, names)
	return false
}

func wrongHeader(d *decode.Doc, name string, v *document.Value, allowed []string) {
	diag := document.Diagnostic{ID: problem.DocumentHeader, Field: name, Expected: decode.OneOf(allowed)}
	switch {
	case v == nil:
		diag.Summary = name + " is missing"
		for i := range d.Root.Entries { // look for a misspelled field
			if e := &d.Root.Entries[i]; !slices.Contains(headerFields, e.Key) &&
				document.Nearest(e.Key, headerFields) == name {
				diag.Summary, diag.Hint = fmt.Sprintf("%s is missing: the field here is %q", name,
					document.Clip(e.Key)), decode.Also(fmt.Sprintf("did you mean %q?", name), e.Key)
				diag.ID = problem.FieldUnknown
				d.ErrorAt(e.Pos, diag)
				return
			}
		}
	case v.Kind != document.KindString:
		diag.Summary = name + " is " + v.Kind.String()
	default:
		diag.Summary = fmt.Sprintf("%s is %q", name, document.Clip(v.Text))
		diag.Hint = decode.Also(document.DidYouMean(v.Text, allowed), v.Text)
	}
	d.ErrorAt(cmp.Or(v, d.Root).Pos, diag)
}

// readDocument reads the whole document into n: metadata into name, and spec by the given fields.
func readDocument(d *decode.Decoder, name *string, fileName string, spec []decode.Field) {
	metadata := []decode.Field{
		decode.Text("name", name, decode.ValidName),
		decode.Unread("labels"),
		decode.Unread("annotations"),
	}
	// Every document has these fields. Only the origin of the cluster's is kept.
	top := decode.Decoder{Doc: d.Doc, Origins: make(decode.Origins), Hints: d.Hints}
	top.At(d.Doc.Root, "").Mapping([]decode.Field{
		decode.Unread("apiVersion"),
		decode.Unread("kind"),
		{Name: "metadata", Set: func(v decode.Reading) { v.Mapping(metadata) }},
		{Name: "spec", Set: func(v decode.Reading) { d.At(v.Value, v.Path).Mapping(spec) }},
	})
	if fileName == "" {
		d.Origins["metadata.name"], d.Origins["spec"] = top.Origins["metadata.name"], top.Origins["spec"]
	}
	written := d.Doc.Root.Get("metadata").Get("name")
	switch {
	case written == nil:
		d.Doc.ErrorAt(d.Doc.Root.Pos, document.Diagnostic{ID: problem.DocumentHeader,
			Summary: "metadata.name is missing", Field: "metadata.name", Expected: "metadata: {name: …}"})
	case fileName != "" && written.Str() != fileName && written.Kind == document.KindString:
		d.Doc.ErrorAt(written.Pos, document.Diagnostic{ID: problem.DocumentHeader,
			Summary: fmt.Sprintf("the document's name is %q, its file's is %q", document.Clip(written.Text), fileName),
			Field:   "metadata.name", Expected: "the same name in both", Hint: "rename the one that is wrong"})
	}
}

// dialects are the dialects that can be read, in the order in which a diagnostic lists them.
var dialects = [...]*decode.Dialect{&decode.Strict, &kops.V1Alpha2, &kops.V1Alpha3}
