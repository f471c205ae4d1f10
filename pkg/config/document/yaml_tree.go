package document

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// treeBuilder turns the YAML library's nodes into values. It resolves aliases, applies merge keys,
// and finds duplicate keys.
type treeBuilder struct {
	anchors map[string]*Value
	secret  int // above 0 within the value of a secret key: diagnostics then show no names
	wrong   []misplaced
}

// misplaced is a diagnostic that waits until the tree is complete, because only the tree tells
// which part of its line may be shown.
type misplaced struct {
	pos  Pos
	diag Diagnostic
}

func (b *treeBuilder) fail(p Pos, diag Diagnostic) *Value {
	b.wrong = append(b.wrong, misplaced{p, diag})
	return &Value{Pos: p, size: 1}
}

func (b *treeBuilder) value(n ast.Node, depth int) *Value {
	if n == nil {
		return &Value{Pos: Pos{1, 1}, size: 1}
	}
	p := tokenPos(n.GetToken())
	if depth > 2*maxDepth {
		return b.fail(p, Diagnostic{ID: problem.DocumentBounds, Summary: "nested too deeply"})
	}
	scalar := func(k Kind, text string) *Value { return &Value{Kind: k, Text: text, Pos: p, size: 1} }
	switch n := n.(type) {
	case *ast.NullNode:
		return scalar(KindNull, "")
	case *ast.BoolNode:
		return scalar(KindBool, n.Token.Value)
	case *ast.IntegerNode:
		return scalar(KindInt, n.Token.Value)
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(KindFloat, n.GetToken().Value)
	case *ast.StringNode:
		v := scalar(KindString, n.Value)
		v.Quoted = n.Token.Type != token.StringType
		if before := n.Token.Prev; !v.Quoted && before != nil &&
			strings.Contains(strings.TrimSpace(n.Token.Origin), "\n") && before.Position.Line < p.Line {
			// For a text of several lines the library has the position of the end.
			v.Pos = Pos{before.Position.Line, before.Position.Column + tokenWidth(before) + 1}
		}
		return v
	case *ast.LiteralNode:
		v := scalar(KindString, n.Value.Value)
		v.Quoted = true
		return v
	case *ast.MappingNode:
		return b.mapping(n.Values, p, depth)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{n}, p, depth)
	case *ast.SequenceNode:
		return b.list(n, p, depth)
	case *ast.AnchorNode:
		v := b.value(n.Value, depth+1)
		b.anchors[n.Name.GetToken().Value] = v // set after its value, so that an anchor cannot contain itself
		return v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if v, ok := b.anchors[name]; ok {
			return v
		}
		return b.fail(p, Diagnostic{ID: problem.YAMLUnsupported, Summary: "an alias (*) has no anchor (&) before it",
			Hint: "a string that begins with * goes in quotes"})
	}
	return b.fail(p,
		Diagnostic{ID: problem.YAMLUnsupported, Summary: fmt.Sprintf("%s is not supported here", n.Type())})
}

func (b *treeBuilder) list(n *ast.SequenceNode, p Pos, depth int) *Value {
	v := &Value{Kind: KindList, Pos: p, size: 1, Items: make([]*Value, 0, len(n.Values))}
	for _, item := range n.Values {
		child := b.value(item, depth+1)
		v.Items = append(v.Items, child)
		b.grow(v, child)
	}
	return v
}

func (b *treeBuilder) mapping(values []*ast.MappingValueNode, p Pos, depth int) *Value {
	v := &Value{Kind: KindMap, Pos: p, size: 1, Entries: make([]Entry, 0, len(values))}
	if len(values) > maxFields {
		return b.fail(p, Diagnostic{ID: problem.DocumentBounds,
			Summary: fmt.Sprintf("a mapping of more than %d fields", maxFields)})
	}
	var merged []*Value
	for i, mv := range values {
		keyToken := mv.Key.GetToken()
		at := tokenPos(keyToken)
		if i == 0 && at.before(p) {
			v.Pos = at // a block mapping begins at its first key, not at the colon
		}
		child := b.field(keyToken.Value, mv.Value, depth)
		b.grow(v, child)
		switch mv.Key.(type) {
		case *ast.MergeKeyNode:
			merged = append(merged, child)
			continue
		case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.NullNode, *ast.FloatNode:
		default:
			b.fail(at, Diagnostic{ID: problem.YAMLUnsupported, Summary: "a key must be a plain word"})
			continue
		}
		if first := v.Index(keyToken.Value); first >= 0 {
			summary := "a field is set twice"
			if b.secret == 0 {
				summary = fmt.Sprintf("field %q is set twice", Clip(keyToken.Value))
			}
			b.fail(at, Diagnostic{ID: problem.FieldTwice, Summary: summary,
				Hint: fmt.Sprintf("it is set first on line %d: take one of them out", v.Entries[first].Pos.Line)})
			continue
		}
		v.Entries = append(v.Entries, Entry{Key: keyToken.Value, width: tokenWidth(keyToken), Pos: at, Value: child})
	}
	for _, m := range merged {
		b.merge(v, m)
	}
	return v
}

func (b *treeBuilder) field(key string, n ast.Node, depth int) *Value {
	if IsSecretKey(key) {
		b.secret++
		defer func() { b.secret-- }()
	}
	return b.value(n, depth+1)
}

// merge adds to v the entries of a merge key (<<: *defaults) that v does not have.
func (b *treeBuilder) merge(v, from *Value) {
	switch from.Kind {
	case KindList:
		for _, item := range from.Items {
			b.merge(v, item)
		}
	case KindMap:
		for _, e := range from.Entries {
			if v.Index(e.Key) < 0 {
				v.Entries = append(v.Entries, e)
			}
		}
	default:
		b.fail(from.Pos, Diagnostic{ID: problem.YAMLUnsupported, Summary: "a merge key (<<) needs a mapping",
			Expected: "<<: *anchor"})
	}
}

// grow adds the number of a child's values; an alias counts each time. A tree that becomes too
// large is refused.
func (b *treeBuilder) grow(v, child *Value) {
	if v.size = min(v.size+child.size, maxValues+1); v.size > maxValues && len(b.wrong) == 0 {
		b.fail(v.Pos, Diagnostic{ID: problem.DocumentBounds,
			Summary: fmt.Sprintf("aliases unfold to more than %d values", maxValues)})
	}
}

// Index returns the index of a key among the entries of a mapping, or -1 if it is not there.
func (v *Value) Index(key string) int {
	for i := range v.Entries {
		if v.Entries[i].Key == key {
			return i
		}
	}
	return -1
}
