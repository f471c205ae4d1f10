package house

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"unicode"
)

// refused are words that this project had of its own, with what the field says.
var refused = map[string]string{
	"absent": "missing", "afresh": "force", "ahead": "pending, until", "alone": "own, isolated",
	"asker": "requester", "asks": "requests, effects", "barred": "blocked", "beside": "with, via",
	"bring": "fetch, restore, start", "brings": "fetch, restore, start", "cable": "veth pair",
	"coming": "new, pending", "custody": "ownership", "deaf": "unwatched", "debt": "pending effect",
	"due": "expired, pending, next", "effectual": "state", "either": "autodetect", "fits": "matches, validate",
	"foreign": "unmanaged, untrusted", "foretell": "preview", "forgive": "cancel", "fraction": "bucket, hash",
	"given": "input, pending", "hear": "watch, ask", "heard": "watched, handled", "hears": "watches",
	"held": "pinned, blocked, suppressed, in use", "hold": "pin, block, await", "holder": "owner",
	"holds": "contains, in use", "inforce": "effective", "keep": "retain, cache, save", "keeper": "state reader",
	"keeps": "retains, caches", "kept": "retained, cached", "known": "cached, evidence", "learnt": "API cache",
	"leaves": "ignores, skips", "leaving": "skip, unmanage", "leftovers": "residue", "life": "validity, lifecycle",
	"lives": "validity, expiry", "marks": "selectors", "memory": "cache, snapshot", "moved": "migrated",
	"nobody": "none, not running", "owe": "enqueue", "owed": "pending", "owes": "has pending", "pace": "rate limit",
	"paid": "acknowledged", "patience": "timeout", "patient": "retrying", "peace": "back-off", "place": "path, key, index",
	"plain": "unsigned, strict, default", "proved": "tested by", "quarrel": "flapping", "quiet": "not before, no autoload",
	"remembered": "cached", "restless": "racy", "ruling": "decision", "scene": "test bed", "settle": "commit, finish",
	"settled": "committed, finished, clean", "settles": "commits, finishes", "signs": "health checks",
	"sink": "writer, destination", "standing": "status, remains", "sweep": "remove stale", "taking": "select, revert",
	"tell": "publish, notify, describe", "telling": "publishing", "tells": "publishes", "together": "atomic, batch",
	"told": "published, notified", "trial": "probation, retry", "tried": "started, on probation",
	"unheard": "unwatched", "unjudged": "untestable", "unproved": "untested, missing proofs", "wake": "trigger, notify",
	"woken": "triggered", "words": "describe, text", "yields": "safe to replace",
}

// alone are refused as a whole name, and say something as a part of one: RetryAfter, PrintTable.
var alone = map[string]string{
	"after": "requires, dependents", "guard": "lock, limit", "print": "fingerprint", "then": "effects, requires",
	"what": "the noun", "who": "the noun", "whose": "the noun",
}

// phrases are the field's own, though a word of theirs is refused.
var phrases = []string{"in place", "wire guard"}

// fieldsOwn are names that say what the field says by them, with the reason.
var fieldsOwn = map[string]string{
	"cmd/agent.explained.After":                 "what comes after a key, beside what comes before it",
	"pkg/config/document.flow.plain":            "YAML's plain style",
	"pkg/config/document.isPlain":               "YAML's plain style",
	"pkg/config/document.plainKind":             "YAML's plain style",
	"pkg/config/networks.CustomMount.What":      "systemd.mount's What=",
	"pkg/config/policy.Keep":                    "a value that documents have",
	"pkg/model/network.Mount.What":              "systemd.mount's What=",
	"pkg/reconcile.outcome.guard":               "a guard.Guard",
	"pkg/reconcile/guard.Guard":                 "its package has the name",
	"pkg/reconcile/guard.guard":                 "its package has the name",
	"pkg/report.Field.After":                    "the value after, beside the one before",
	"pkg/statestore/publisher.Difference.After": "the object after, beside the one before",
	"pkg/tasks.Field.After":                     "the value after, beside the one before",
	"pkg/tasks.Item.After":                      "the content after, beside the one before",
	"pkg/tasks.Mount.What":                      "systemd.mount's What=",
}

// Words refuses what nobody would look for: words that only this project has, in names at the top
// of packages, of methods, of fields and of files.
var Words = rule("words", "no name has a word of a list of home-made ones", func(p *pass) {
	at, ours := p.within()
	if !ours || !bounded(at) {
		return
	}
	files := p.sources()
	used := map[string]bool{}
	check := func(pos token.Pos, owner, name string) {
		word, instead := homeMade(name)
		if word == "" {
			return
		}
		full := at + "." + name
		if owner != "" {
			full = at + "." + owner + "." + name
		}
		if fieldsOwn[full] != "" {
			used[full] = true
			return
		}
		p.say(pos, "%s has the word %q, which nobody looks for: say what it is in the field's word (%s), or add a line with the "+
			"reason to fieldsOwn in tools/house/words.go", name, word, instead)
	}
	for _, f := range files {
		check(f.Package, "", strings.TrimSuffix(path.Base(p.fileName(f)), ".go"))
		eachName(f, check)
	}
	if len(files) == 0 {
		return
	}
	for full, reason := range fieldsOwn {
		if rest, is := strings.CutPrefix(full, at+"."); is && !strings.Contains(rest, "/") && !used[full] {
			p.say(files[0].Package, "nothing needs the line of %s in fieldsOwn in tools/house/words.go any more: remove it (%s)", full, reason)
		}
	}
})

// homeMade returns the word of a name that is refused, and what to say instead; "" if none is.
func homeMade(name string) (word, instead string) {
	words := humps(name)
	if len(words) == 1 && alone[words[0]] != "" {
		return words[0], alone[words[0]]
	}
	text := " " + strings.Join(words, " ") + " "
	for _, phrase := range phrases {
		text = strings.ReplaceAll(text, " "+phrase+" ", " ")
	}
	words = strings.Fields(text)
	for i, w := range words {
		if pair := w; i+1 < len(words) && (pair+" "+words[i+1] == "not here" || pair+" "+words[i+1] == "in force") {
			return pair + " " + words[i+1], "not applicable; effective, current"
		}
		if refused[w] != "" {
			return w, refused[w]
		}
	}
	return "", ""
}

// humps splits a name into its words, in lower case: "DNSKeptFor" is dns, kept, for.
func humps(name string) (words []string) {
	runes := []rune(name)
	from := 0
	end := func(i int) {
		if word := strings.Trim(string(runes[from:i]), "_"); word != "" {
			words = append(words, strings.ToLower(word))
		}
		from = i
	}
	for i := 1; i < len(runes); i++ {
		before, now := runes[i-1], runes[i]
		switch {
		case now == '_', unicode.IsLower(before) && unicode.IsUpper(now), unicode.IsDigit(before) != unicode.IsDigit(now):
			end(i)
		case unicode.IsUpper(before) && unicode.IsUpper(now) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			end(i)
		}
	}
	end(len(runes))
	return words
}

// eachName visits the names at the top of a file, of methods, and of the fields of its types. owner
// is the type of a method or a field.
func eachName(f *ast.File, visit func(pos token.Pos, owner, name string)) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			visit(d.Name.Pos(), receiver(d), d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						visit(name.Pos(), "", name.Name)
					}
				case *ast.TypeSpec:
					visit(spec.Name.Pos(), "", spec.Name.Name)
					eachField(spec, visit)
				}
			}
		}
	}
}

func eachField(spec *ast.TypeSpec, visit func(pos token.Pos, owner, name string)) {
	ast.Inspect(spec.Type, func(n ast.Node) bool {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			list = n.Fields
		case *ast.InterfaceType:
			list = n.Methods
		case *ast.FuncType:
			return false
		}
		if list != nil {
			for _, field := range list.List {
				for _, name := range field.Names {
					visit(name.Pos(), spec.Name.Name, name.Name)
				}
			}
		}
		return true
	})
}

// receiver is the type of a method; "" of a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if of, ok := t.(*ast.IndexExpr); ok {
		t = of.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
