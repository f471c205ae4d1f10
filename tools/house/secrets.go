package house

import (
	"go/ast"
	"go/types"
	"regexp"
)

// secretName is what fields are called that hold a secret; the path of a file that has one is named
// …File, …Dir or …Path.
var secretName = regexp.MustCompile(`(?i)(^|_)(bearer|credentials?)$|(token|passw(or)?d|passphrase|secret|private_?(key|material))s?$`)

// keyName is what fields are called that hold a key in bytes.
var keyName = regexp.MustCompile(`^([kK]ey|[a-z]\w*Key|\w+KeyPEM)$`)

// Secrets refuses fields that hold a secret and show it.
var Secrets = rule("secrets", "a field that holds a token, a password or a private key is a secret.Text", func(p *pass) {
	at, ours := p.within()
	if !ours || !below(at, "pkg") && !below(at, "cmd") || at == "pkg/secret" {
		return
	}
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			fields, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range fields.Fields.List {
				text, bytes := plain(p.TypesInfo.TypeOf(field.Type))
				for _, name := range field.Names {
					if (text || bytes) && secretName.MatchString(name.Name) || bytes && keyName.MatchString(name.Name) {
						p.say(name.Pos(), "field %s shows what it holds to every %%v, log line and encoder: make it a secret.Text, and Reveal it where it is used", name.Name)
					}
				}
			}
			return true
		})
	}
})

// plain tells a type that is a string, and one that is bytes, without a name of its own.
func plain(t types.Type) (text, bytes bool) {
	switch t := t.(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0, false
	case *types.Pointer:
		return plain(t.Elem())
	case *types.Slice:
		basic, ok := t.Elem().(*types.Basic)
		return ok && basic.Info()&types.IsString != 0, ok && basic.Kind() == types.Byte
	}
	return false, false
}
