package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// treeBuilder turns the YAML library's nodes into values: aliases resolved, merge keys applied,
// duplicate keys found.
type treeBuilder struct {
	anchors map[string]*value
	secret  int // above 0 within the value of a secret key: no names in diagnostics
	wrong   []misplaced
}

// misplaced is a diagnostic that waits until the tree is whole, for only then is it known what of
// its line may be shown.
type misplaced struct {
	pos  pos
	diag Diagnostic
}

func (b *treeBuilder) fail(p pos, diag Diagnostic) *value {
	b.wrong = append(b.wrong, misplaced{p, diag})
	return &value{pos: p, size: 1}
}

func (b *treeBuilder) value(n ast.Node, depth int) *value {
	if n == nil {
		return &value{pos: pos{1, 1}, size: 1}
	}
	p := tokenPos(n.GetToken())
	if depth > 2*maxDepth {
		return b.fail(p, Diagnostic{ID: problem.DocumentBounds, Summary: "nested too deeply"})
	}
	scalar := func(k kind, text string) *value { return &value{kind: k, text: text, pos: p, size: 1} }
	switch n := n.(type) {
	case *ast.NullNode:
		return scalar(kindNull, "")
	case *ast.BoolNode:
		return scalar(kindBool, n.Token.Value)
	case *ast.IntegerNode:
		return scalar(kindInt, n.Token.Value)
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(kindFloat, n.GetToken().Value)
	case *ast.StringNode:
		v := scalar(kindString, n.Value)
		v.quoted = n.Token.Type != token.StringType
		if before := n.Token.Prev; !v.quoted && before != nil && strings.Contains(strings.TrimSpace(n.Token.Origin), "\n") && before.Position.Line < p.line {
			v.pos = pos{before.Position.Line, before.Position.Column + tokenWidth(before) + 1} // of a text of several lines the library tells the end
		}
		return v
	case *ast.LiteralNode:
		v := scalar(kindString, n.Value.Value)
		v.quoted = true
		return v
	case *ast.MappingNode:
		return b.mapping(n.Values, p, depth)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{n}, p, depth)
	case *ast.SequenceNode:
		return b.list(n, p, depth)
	case *ast.AnchorNode:
		v := b.value(n.Value, depth+1)
		b.anchors[n.Name.GetToken().Value] = v // after its value: an anchor cannot hold itself
		return v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if v, ok := b.anchors[name]; ok {
			return v
		}
		return b.fail(p, Diagnostic{ID: problem.YAMLUnsupported, Summary: "an alias (*) has no anchor (&) before it", Hint: "a string that begins with * goes in quotes"})
	}
	return b.fail(p, Diagnostic{ID: problem.YAMLUnsupported, Summary: fmt.Sprintf("%s is not supported here", n.Type())})
}

func (b *treeBuilder) list(n *ast.SequenceNode, p pos, depth int) *value {
	v := &value{kind: kindList, pos: p, size: 1, items: make([]*value, 0, len(n.Values))}
	for _, item := range n.Values {
		child := b.value(item, depth+1)
		v.items = append(v.items, child)
		b.grow(v, child)
	}
	return v
}

func (b *treeBuilder) mapping(values []*ast.MappingValueNode, p pos, depth int) *value {
	v := &value{kind: kindMap, pos: p, size: 1, entries: make([]entry, 0, len(values))}
	if len(values) > maxFields {
		return b.fail(p, Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("a mapping of more than %d fields", maxFields)})
	}
	var merged []*value
	for i, mv := range values {
		keyToken := mv.Key.GetToken()
		at := tokenPos(keyToken)
		if i == 0 && at.before(p) {
			v.pos = at // a block mapping begins at its first key, not at the colon
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
		if first := v.index(keyToken.Value); first >= 0 {
			summary := "a field is set twice"
			if b.secret == 0 {
				summary = fmt.Sprintf("field %q is set twice", clip(keyToken.Value))
			}
			b.fail(at, Diagnostic{ID: problem.FieldTwice, Summary: summary,
				Hint: fmt.Sprintf("it is set first on line %d: take one of them out", v.entries[first].pos.line)})
			continue
		}
		v.entries = append(v.entries, entry{key: keyToken.Value, width: tokenWidth(keyToken), pos: at, value: child})
	}
	for _, m := range merged {
		b.merge(v, m)
	}
	return v
}

func (b *treeBuilder) field(key string, n ast.Node, depth int) *value {
	if isSecretKey(key) {
		b.secret++
		defer func() { b.secret-- }()
	}
	return b.value(n, depth+1)
}

// merge adds to v what it does not say itself (<<: *defaults).
func (b *treeBuilder) merge(v, from *value) {
	switch from.kind {
	case kindList:
		for _, item := range from.items {
			b.merge(v, item)
		}
	case kindMap:
		for _, e := range from.entries {
			if v.index(e.key) < 0 {
				v.entries = append(v.entries, e)
			}
		}
	default:
		b.fail(from.pos, Diagnostic{ID: problem.YAMLUnsupported, Summary: "a merge key (<<) needs a mapping", Expected: "<<: *anchor"})
	}
}

// grow counts a child's values, aliases each time: a tree that unfolds without end is refused.
func (b *treeBuilder) grow(v, child *value) {
	if v.size = min(v.size+child.size, maxValues+1); v.size > maxValues && len(b.wrong) == 0 {
		b.fail(v.pos, Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("aliases unfold to more than %d values", maxValues)})
	}
}

func (v *value) index(key string) int {
	for i := range v.entries {
		if v.entries[i].key == key {
			return i
		}
	}
	return -1
}
