package document

import (
	"errors"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// Parse builds the document's tree, once. If that fails, Root stays nil and the diagnostics say
// why.
func (d *Document) Parse() {
	if d.parsed {
		return
	}
	d.parsed = true
	if !d.prepare() {
		return
	}
	if d.Root = readQuickly(string(d.Text)); d.Root == nil {
		d.Root = d.read()
	}
}

// read builds the tree with the YAML library. If the text is wrong, it returns nil and adds
// diagnostics.
func (d *Document) read() *Value {
	file := d.syntax()
	if file == nil {
		return nil
	}
	body := d.single(file)
	if body == nil {
		return nil
	}
	b := treeBuilder{anchors: make(map[string]*Value)}
	root := b.value(body, 0)
	d.Root = root // the tree tells which part of a line may be shown
	if len(b.wrong) > 0 && d.slipped(b.wrong[0].pos) {
		return nil
	}
	for _, w := range b.wrong {
		d.ErrorAt(w.pos, w.diag)
	}
	if len(b.wrong) > 0 {
		return nil
	}
	return root
}

// syntax runs the YAML library within the bounds. If the library panics, the document cannot be
// read, but the daemon goes on.
func (d *Document) syntax() (file *ast.File) {
	defer func() {
		if r := recover(); r != nil {
			file = nil
			d.ErrorAt(Pos{1, 1}, Diagnostic{ID: problem.YAMLSyntax, Summary: "not valid YAML: the parser gave up",
				Hint: "try the document with another YAML tool, then write it more simply"})
		}
	}()
	if !d.checkIndicators() {
		return nil
	}
	tokens := lexer.Tokenize(string(d.Text))
	if bad := tokens.InvalidToken(); bad != nil {
		d.syntaxError(bad, bad.Error)
		return nil
	}
	tokens, ok := d.checkTokens(tokens)
	if !ok {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if located, ok := errors.AsType[locatedError](err); ok {
			d.syntaxError(located.GetToken(), located.GetMessage())
		} else {
			d.ErrorAt(Pos{1, 1}, Diagnostic{ID: problem.YAMLSyntax, Summary: "not valid YAML"})
		}
		return nil
	}
	return file
}

// locatedError is what the library's error types, which are all internal, have in common.
type locatedError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

// single returns the body of the file's only document. If there is none, or more than one, it
// returns nil and adds a diagnostic.
func (d *Document) single(file *ast.File) ast.Node {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if doc.Body.Type() == ast.DirectiveType {
			d.ErrorAt(tokenPos(doc.Body.GetToken()),
				Diagnostic{ID: problem.YAMLUnsupported, Summary: "YAML directives are not supported",
					Hint: "take the line out"})
			return nil
		}
		if body != nil {
			p := tokenPos(doc.Body.GetToken())
			if doc.Start != nil {
				p = tokenPos(doc.Start)
			}
			d.ErrorAt(p, Diagnostic{ID: problem.YAMLUnsupported, Summary: "a second document in one file",
				Expected: "one document a file", Hint: "move it to a file of its own"})
			return nil
		}
		body = doc.Body
	}
	if body == nil && !d.MayBeEmpty {
		d.ErrorAt(Pos{1, 1}, Diagnostic{ID: problem.DocumentHeader, Summary: "the document is empty",
			Expected: "apiVersion, kind, metadata and spec",
			Hint:     "write the document, or remove the file"})
	}
	return body
}

// Excerpt returns a line of a source without secrets, and the caret under it. Both are "" if there
// is no such line.
func Excerpt(s Source, line, column int) (text, caret string) {
	d := New(s)
	d.MayBeEmpty = true
	d.Parse()
	return d.excerpt(d.Text.clamp(Pos{line, column}))
}
