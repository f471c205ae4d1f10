package pages

import (
	"fmt"
	"strings"
)

// writer gathers Markdown, a blank line between its parts.
type writer struct{ strings.Builder }

func (w *writer) para(format string, args ...any) {
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	fmt.Fprintf(w, format+"\n", args...)
}

func (w *writer) list(items []string) {
	for i, item := range items {
		if i == 0 {
			w.WriteString("\n")
		}
		w.WriteString("- " + prose(item) + "\n")
	}
}

// table leaves out columns that hold nothing, and itself when it has no rows.
func (w *writer) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.WriteString("\n")
	var kept []int
	for i := range head {
		for _, row := range rows {
			if i < len(row) && row[i] != "" {
				kept = append(kept, i)
				break
			}
		}
	}
	line := func(cells []string) {
		w.WriteString("|")
		for _, i := range kept {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			w.WriteString(" " + strings.ReplaceAll(prose(cell), "|", "\\|") + " |")
		}
		w.WriteString("\n")
	}
	line(head)
	w.WriteString(strings.Repeat("|---", len(kept)) + "|\n")
	for _, row := range rows {
		line(row)
	}
}

// prose keeps stars and angle brackets of names out of Markdown's hands, outside of code.
func prose(s string) string {
	parts := strings.Split(s, "`")
	for i := range parts {
		if i%2 == 0 {
			parts[i] = strings.NewReplacer("*", "\\*", "<br>", "<br>", "<", "&lt;").Replace(parts[i])
		}
	}
	return strings.Join(parts, "`")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func codes(all []string, between string) string {
	var out []string
	for _, s := range all {
		out = append(out, code(s))
	}
	return strings.Join(out, between)
}

// clauses joins what is there.
func clauses(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "; ")
}
