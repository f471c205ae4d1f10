package house

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// docLink is a link in a comment to a name, a method or what another package has: a name in
// brackets, as go/doc reads it.
var docLink = regexp.MustCompile(`(?:^|[\s(])\[\*?([A-Za-z]\w*(?:\.[A-Za-z]\w*){0,2})\](?:$|[\s.,;:)'])`)

// sections of systemd's units stand in brackets too.
var sections = []string{"Service", "Install"}

// DocLinks holds the links in comments to what is there.
var DocLinks = rule("doclinks", "a name in brackets in a comment is a declaration of the package, or of one that it imports", func(p *pass) {
	if _, ours := p.within(); !ours {
		return
	}
	imported := map[string]*types.Package{}
	for _, other := range p.Pkg.Imports() {
		imported[other.Name()] = other
	}
	for _, f := range p.sources() {
		for _, group := range f.Comments {
			for _, c := range group.List {
				for _, link := range docLink.FindAllStringSubmatch(strings.TrimPrefix(c.Text, "//"), -1) {
					if name := link[1]; !slices.Contains(sections, name) && !p.declares(imported, name) {
						p.say(c.Pos(), "[%s] is not declared here, nor by what the package imports: name what is there "+
							"now; a reader follows the link", name)
					}
				}
			}
		}
	}
})

// declares says whether a link leads somewhere. What leads to a package that this one does not
// import cannot be told, and passes.
func (p *pass) declares(imported map[string]*types.Package, name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	in := p.Pkg
	obj := in.Scope().Lookup(first)
	switch {
	case obj != nil:
	case types.Universe.Lookup(first) != nil:
		return true
	case imported[first] != nil && rest == "":
		return true
	case imported[first] != nil:
		in = imported[first]
		first, rest, _ = strings.Cut(rest, ".")
		obj = in.Scope().Lookup(first)
	default:
		return rest != "" && first == strings.ToLower(first)
	}
	if obj == nil || rest == "" {
		return obj != nil
	}
	member, _, _ := types.LookupFieldOrMethod(obj.Type(), true, in, rest)
	return member != nil
}
