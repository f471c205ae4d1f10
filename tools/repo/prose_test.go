package repo_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is the most columns in a line of prose; a tab counts as four.
const widest = 100

// whole matches what stays on one line: code and links.
var whole = regexp.MustCompile("`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)")

// lead matches what comes before the prose of a line.
var lead = regexp.MustCompile(`^\s*(// ?)?\s*([-*•→(]|\d+[.)])?\s*`)

// Prose of Markdown and comments of Go have short lines. Tables, code, headings and generated pages
// are free, and so are lines without a space at which to break them.
func TestProseIsNarrow(t *testing.T) {
	files(t, func(path string, data []byte) {
		text := string(data)
		prose := map[string]func(string) bool{".md": markdownProse(), ".go": isComment}[filepath.Ext(path)]
		if prose == nil || strings.HasPrefix(text, "<!-- Generated") {
			return
		}
		for i, line := range strings.Split(text, "\n") {
			wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > widest
			if prose(line) && wide && strings.Contains(whole.ReplaceAllString(lead.ReplaceAllString(line, ""), "_"), " ") {
				t.Errorf("%s:%d: %d columns at most: break the line", path, i+1, widest)
			}
		}
	})
}

// longest is the most words in a cell of a table.
const longest = 30

// columns matches what separates the cells of a table's row.
var columns = regexp.MustCompile(`(^|[^\\])\|`)

// A cell of a table is short, and the rest belongs in a paragraph below. Generated pages are free,
// since their cells are lists.
func TestTableCellsAreShort(t *testing.T) {
	files(t, func(path string, data []byte) {
		text := string(data)
		if filepath.Ext(path) != ".md" || strings.HasPrefix(text, "<!-- Generated") {
			return
		}
		for i, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range columns.Split(line, -1) {
				if words := len(strings.Fields(cell)); words > longest {
					t.Errorf("%s:%d: a cell of %d words, at most %d: say the rest below the table", path, i+1, words, longest)
				}
			}
		}
	})
}

// markdownProse returns a function that distinguishes lines of prose from others. It gets the lines
// of one file in order.
func markdownProse() func(string) bool {
	code := false
	return func(line string) bool {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		text := strings.TrimSpace(line)
		return !code && text != "" && !strings.HasPrefix(line, "    ") && !strings.ContainsAny(text[:1], "|#<>!`")
	}
}

func isComment(line string) bool {
	text, is := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
	return is && !strings.HasPrefix(text, " ")
}
