package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// shown is the file without the credentials of its URLs.
func (f AssetFile) shown() AssetFile {
	f.URLs = slices.Clone(f.URLs)
	for i, u := range f.URLs {
		f.URLs[i] = document.MaskURLs(u)
	}
	return f
}

// MarshalJSON leaves the credentials of URLs out.
func (f AssetFile) MarshalJSON() ([]byte, error) {
	type plain AssetFile
	return json.Marshal(plain(f.shown()))
}

// Format implements [fmt.Formatter], for every verb: as JSON has it.
func (f AssetFile) Format(s fmt.State, _ rune) {
	shown := f.shown()
	fmt.Fprintf(s, "{%s %s}", shown.SHA256, shown.URLs)
}

// inlineSecret refuses, where documents are checked before they are published, a secret in one:
// every node receives all documents. kOps' own have no other place for it.
func inlineSecret(d *decode.Decoder, v *document.Value, at string) {
	diag := document.Diagnostic{ID: problem.KeypairExposed, Field: at, Summary: at + " is a secret, and every node receives the document that it is in",
		Expected: "a file below files/ of the store, which no node reads but those that use it: source: NAME", Hint: "if anybody may read it: secret: false"}
	switch {
	case d.Checks && !d.Doc.Dialect.Lenient:
		d.Doc.ErrorAt(v.Pos, diag)
	case d.Checks:
		d.Doc.WarnAt(v.Pos, diag)
	}
}
