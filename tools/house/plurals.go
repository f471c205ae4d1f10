package house

import (
	"go/ast"
	"go/constant"
	"regexp"
	"slices"
	"strings"
)

// Plurals refuses a number before a plural in a format: it writes "1 files".
var Plurals = rule("plurals", "a number of things is written by plural.Of", func(p *pass) {
	if at, ours := p.within(); !ours || !strings.HasPrefix(at, "pkg/") && !strings.HasPrefix(at, "cmd/") {
		return
	}
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				checkPlurals(p, call)
			}
			return true
		})
	}
})

var (
	beforeWord = regexp.MustCompile(`%(d) (?:more |other )?(\w+)`)
	// notCounted are words after the number of one thing ("line 1 has"), and the unit of sizes.
	notCounted = []string{"as", "bytes", "has", "is", "sets", "this", "wants", "was", "does", "needs", "takes"}
)

func checkPlurals(p *pass, call *ast.CallExpr) {
	for i, arg := range call.Args {
		format := p.TypesInfo.Types[arg].Value
		if format == nil || format.Kind() != constant.String || !strings.Contains(constant.StringVal(format), "%d ") {
			continue
		}
		text := constant.StringVal(format)
		for _, at := range beforeWord.FindAllStringSubmatchIndex(text, -1) {
			word := text[at[4]:at[5]]
			of := i + len(verbs(text[:at[3]]))
			if !strings.HasSuffix(word, "s") || slices.Contains(notCounted, word) || of >= len(call.Args) {
				continue
			}
			if p.TypesInfo.Types[call.Args[of]].Value == nil {
				p.say(call.Args[of].Pos(), "%q writes \"1 %s\": write the number with its noun by plural.Of", "%d "+word, word)
			}
		}
	}
}
