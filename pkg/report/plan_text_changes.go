package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/tasks"
)

// The largest widths of a plan's columns, in characters, and how many lines of contents it shows.
// The JSON has all of them.
const (
	keyColumn   = 52
	fieldColumn = 24
	headLines   = 12  // of a new file
	diffLines   = 120 // of a changed file
)

var opColor = map[string]string{"+": green, "~": yellow, "-": red, "!": bold}

// row is one line for a change: mark, key, what differs, why.
type row struct {
	item         Item
	fields, said string
	step         *Step
	last         bool // the last row of its step
}

// changes writes a line for each changed key, in columns, with its diff.
func (t *planText) changes(p *Plan) {
	var rows []row
	for s := range p.In(Planned, Done) {
		for j, it := range s.Items {
			r := row{item: it, fields: Line(fields(it)), step: s, last: j == len(s.Items)-1}
			if r.last {
				r.said = Line(said(s, it))
			}
			rows = append(rows, r)
		}
	}
	keys, values := 0, 0
	for _, r := range rows {
		keys = max(keys, within(r.item.Key, keyColumn))
		values = max(values, within(r.fields, fieldColumn))
	}
	for _, r := range rows {
		line := "  " + t.paint(opColor[r.item.Op], r.item.Op) + " " + pad(Line(r.item.Key), keys) + "  " +
			pad(r.fields, values) + "  " + t.paint(dim, r.said)
		t.line("%s", line)
		t.diff(r.item)
		if r.last {
			t.attention(r.step)
		}
	}
}

// within returns the width of a text that fits into a column; 0 for one that does not.
func within(s string, column int) int {
	if n := utf8.RuneCountInString(s); n <= column {
		return n
	}
	return 0
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// said returns why the step is in the plan, who asked for it, and which effects follow.
func said(s *Step, it Item) string {
	var parts []string
	if s.Repair {
		parts = append(parts, "repair")
	}
	if s.Reason != "" && !evident(s, it) {
		parts = append(parts, shortList(s.Reason))
	}
	if s.Why != "" {
		parts = append(parts, s.Why)
	}
	if s.Origin != "" {
		parts = append(parts, s.Origin)
	}
	if len(s.Effects) > 0 {
		parts = append(parts, "then "+effectNames(s.Effects))
	}
	return strings.Join(parts, " · ")
}

// evident reports whether the reason repeats what the line, or the one below it, shows.
func evident(s *Step, it Item) bool {
	return it.Op == "+" && s.Reason == "absent" ||
		s.Unknown != "" && strings.HasSuffix(s.Reason, s.Unknown) ||
		len(it.Fields) > 0 && (strings.HasSuffix(s.Reason, " differs") || strings.HasSuffix(s.Reason, " differ"))
}

// attention writes warnings below a change.
func (t *planText) attention(s *Step) {
	if s.Overrides != "" {
		t.row("      ", yellow, "overrides "+s.Overrides)
	}
	if s.Unknown != "" {
		t.row("      ", yellow, "unknown "+s.Unknown)
	}
	if tasks.ParseClass(s.Class) >= tasks.ClassDrain { // effects below show the lower ones
		t.row("      ", red, s.Class+": "+s.ClassWhy)
	}
	if s.Disruption == mayCutOff {
		t.row("      ", red, mayCutOff)
	}
}

// fields returns "mode 0600 → 0644, mtu 1500". It leaves out names that the value makes clear.
func fields(it Item) string {
	var parts []string
	for _, f := range it.Fields {
		name := f.Name + " "
		switch {
		case f.Name == "content" && it.Diff != "":
			continue // the diff shows more
		case it.Op == "+" && f.Name == "owner" && f.After == "root:root":
			continue
		case f.Name == "value", f.Name == "",
			it.Op == "+" && (f.Name == "type" || f.Name == "mode" || f.Name == "kind" || f.Name == "content"):
			name = ""
		}
		if f.Before == "" && it.Op == "~" && f.Name == "value" {
			f.Before = "none"
		}
		if f.Before == "" {
			parts = append(parts, name+f.After)
			continue
		}
		parts = append(parts, name+f.Before+" → "+f.After)
	}
	return strings.Join(parts, ", ")
}

// diff writes an item's diff; of a new file only the first lines.
func (t *planText) diff(it Item) {
	if !t.opt.Diffs || it.Diff == "" {
		return
	}
	lines, limit := strings.Split(strings.TrimSuffix(it.Diff, "\n"), "\n"), diffLines
	if it.Op == "+" {
		limit = headLines
		if strings.HasPrefix(lines[0], "@@") {
			lines = lines[1:]
		}
	}
	for i, line := range lines {
		if i == limit && len(lines) > limit+1 {
			//nolint:house plurals there are two or more
			t.row("      ", dim, fmt.Sprintf("… %d more lines (-o json has them)", len(lines)-limit))
			return
		}
		color := ""
		switch {
		case strings.HasPrefix(line, "+"):
			color = green
		case strings.HasPrefix(line, "-"):
			color = red
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, `\`):
			color = dim
		}
		t.row("      ", color, line)
	}
}

// effectNames returns the names in keys of effects: "daemon-reload, restart containerd.service".
func effectNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		_, names[i], _ = strings.Cut(k, ":")
	}
	return strings.Join(names, ", ")
}

// shortList shortens a long list of keys.
func shortList(s string) string {
	const shown = 3
	parts := strings.Split(s, ", ")
	if len(parts) <= shown+1 {
		return s
	}
	return fmt.Sprintf("%s and %d more", strings.Join(parts[:shown], ", "), len(parts)-shown)
}
