package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// checkTokens bounds depth and length before the recursive parser runs. It refuses YAML that no
// document needs, and corrects tokens that the lexer splits wrongly. If it returns false, a
// diagnostic says why.
func (d *Document) checkTokens(tokens token.Tokens) (token.Tokens, bool) {
	var block blockLevels
	var flow []token.Type // the open [ and {
	kept := tokens[:0]
	for i := 0; i < len(tokens); i++ {
		tk := tokens[i]
		id, summary, hint := problem.YAMLUnsupported, "", ""
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow = append(flow, tk.Type)
		case token.MappingEndType, token.SequenceEndType:
			flow = flow[:max(0, len(flow)-1)]
		case token.MappingKeyType:
			summary, hint = "complex mapping keys (?) are not supported",
				"write it as key: value; a text that begins with ? goes in quotes"
		case token.TagType:
			summary, hint = "YAML tags (!) are not supported",
				"take the tag out; a text that begins with ! goes in quotes"
		case token.SequenceEntryType, token.MappingValueType:
			if len(flow) == 0 {
				if !block.add(tk) {
					id, summary = problem.DocumentBounds,
						fmt.Sprintf("a mapping of more than %d fields, or a list of more than %d entries", maxFields,
							maxEntries)
				}
				break
			}
			if !gluedColon(tokens, i) {
				break
			}
			if flow[len(flow)-1] == token.SequenceStartType && len(kept) > 0 && kept[len(kept)-1] == tokens[i-1] {
				glue(tokens[i-1], tokens[i+1])
				i++
				continue
			}
			id, summary, hint = problem.YAMLSyntax, "a blank is missing after the colon",
				"write it as key: value, or put a string that holds a colon in quotes"
		}
		if len(flow)+len(block) > maxDepth {
			id, summary = problem.DocumentBounds, fmt.Sprintf("nested deeper than %d levels", maxDepth)
		}
		if summary != "" {
			d.ErrorAt(tokenPos(tk), Diagnostic{ID: id, Summary: summary, Hint: hint})
			return nil, false
		}
		kept = append(kept, tk)
	}
	return kept, d.restoreTabs(kept)
}

// restoreTabs sets the text of plain scalars and keys that contain a tab to what is written,
// because the lexer leaves the tabs out. In YAML 1.2 a tab is part of the text (7.3.3). So a scalar
// with a tab is a string, whatever it would be without the tab. If restoreTabs returns false, a
// diagnostic says why.
func (d *Document) restoreTabs(tokens token.Tokens) bool {
	var before token.Type // of the last token that is no comment
	for _, tk := range tokens {
		if tk.Type == token.CommentType {
			continue
		}
		block := before == token.LiteralType || before == token.FoldedType
		named := before == token.AnchorType || before == token.AliasType
		before = tk.Type
		if block || !isPlain(tk) || !strings.Contains(tk.Origin, "\t") {
			continue
		}
		text := scalarText(tk.Origin)
		switch {
		case text == tk.Value:
		case named:
			d.ErrorAt(tokenPos(tk), Diagnostic{ID: problem.YAMLUnsupported,
				Summary: "a tab is after the name of an anchor or alias", Hint: "write a blank in its place"})
			return false
		default:
			tk.Type, tk.Value = token.StringType, text
		}
	}
	return true
}

// scalarText returns the text of a plain scalar as it is written, with its lines folded (7.3.3:
// ns-plain).
func scalarText(origin string) string {
	var text strings.Builder
	breaks := 0
	for line := range strings.SplitSeq(strings.Trim(origin, " \t\n"), "\n") {
		line = strings.Trim(line, " \t")
		switch {
		case line == "":
			breaks++
			continue
		case breaks > 0:
			text.WriteString(strings.Repeat("\n", breaks))
		case text.Len() > 0:
			text.WriteByte(' ')
		}
		text.WriteString(line)
		breaks = 0
	}
	return text.String()
}

// gluedColon reports whether the colon at i has a plain word on each side and no space between. In
// YAML 1.2 it is then part of one plain string (7.3.3: ns-plain-char). In a list within braces the
// lexer takes it for the colon after a key, and so splits fd00::/64.
func gluedColon(tokens token.Tokens, i int) bool {
	if tokens[i].Type != token.MappingValueType || i == 0 || i+1 == len(tokens) {
		return false
	}
	before, colon, after := tokens[i-1], tokens[i].Position, tokens[i+1]
	return isPlain(before) && isPlain(after) && !strings.HasPrefix(after.Origin, "\t") &&
		before.Position.Line == colon.Line && after.Position.Line == colon.Line &&
		before.Position.Column+tokenWidth(before) == colon.Column && after.Position.Column == colon.Column+1
}

func isPlain(tk *token.Token) bool {
	switch tk.Type {
	case token.StringType, token.IntegerType, token.FloatType, token.BoolType, token.NullType, token.BinaryIntegerType,
		token.OctetIntegerType,
		token.HexIntegerType, token.InfinityType, token.NanType:
		return true
	}
	return false
}

func glue(before, after *token.Token) {
	before.Type = token.StringType
	before.CharacterType = token.CharacterTypeMiscellaneous
	before.Value += ":" + after.Value
	before.Origin += ":" + after.Origin
	before.Next = after.Next
	if after.Next != nil {
		after.Next.Prev = before
	}
}

// blockLevels are the open block collections, by their columns.
type blockLevels []struct{ col, entries, fields int }

// add counts a list entry (-) or a field (:). It returns false if its collection is too long.
func (b *blockLevels) add(tk *token.Token) bool {
	col := tk.Position.Column
	if tk.Type == token.MappingValueType && tk.Prev != nil {
		col = tk.Prev.Position.Column
	}
	levels := *b
	for len(levels) > 0 && levels[len(levels)-1].col > col {
		levels = levels[:len(levels)-1]
	}
	if len(levels) == 0 || levels[len(levels)-1].col < col {
		levels = append(levels, struct{ col, entries, fields int }{col: col})
	}
	*b = levels
	top := &levels[len(levels)-1]
	if tk.Type == token.SequenceEntryType {
		top.entries++
	} else {
		top.fields++
	}
	return top.entries <= maxEntries && top.fields <= maxFields
}

func tokenPos(tk *token.Token) Pos {
	if tk == nil || tk.Position == nil {
		return Pos{1, 1}
	}
	return Pos{tk.Position.Line, tk.Position.Column}
}

// tokenWidth returns the width of a token as it is written, in characters.
func tokenWidth(tk *token.Token) int { return utf8.RuneCountInString(strings.TrimSpace(tk.Origin)) }
