package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/plural"
)

// keyLook is how keys of a state are shown, and what to do about them.
type keyLook struct {
	state       KeyState
	mark, color string
	word        string
	do          func(*KeyStatus) string
	most        int // how many are shown; the others are counted
}

// looks are the states that are shown key by key, the most important first.
var looks = []keyLook{
	{KeyFailing, "✗", red, "failing", func(k *KeyStatus) string {
		switch k.Refused {
		case "":
			return "`agent explain " + k.Key + "` says who wants it; it is tried again by itself"
		case RefusedByRule:
			return "`agent store check` on the documents names the line"
		}
		return "`agent explain " + k.Key + "` says who wants it, `agent history` what was taken back"
	}, 24},
	{KeyContested, "!", red, "contested", stopTheWriter, 24},
	{KeyDrifted, "~", yellow, "drifted", func(k *KeyStatus) string {
		kind, _, _ := strings.Cut(k.Key, ":")
		return "it is only reported: spec.drift." + kind + ": repair has it brought back"
	}, 24},
	{KeyWaiting, "…", yellow, "waiting", func(k *KeyStatus) string {
		if k.Count == 0 {
			return ""
		}
		return stopTheWriter(k) // it waits for its next repair
	}, 12},
	{KeyRepaired, "✓", green, "repaired", func(*KeyStatus) string { return "" }, 6},
}

// stopTheWriter returns what to do about a key that another program keeps changing.
func stopTheWriter(k *KeyStatus) string {
	kind, _, _ := strings.Cut(k.Key, ":")
	return "stop the other writer, or leave the key to it: spec.drift." + kind + ": ignore"
}

// troubles writes the keys that are not simply right. Keys that only follow another one are counted
// below it.
func (t *statusText) troubles(s *Status) {
	t.gap()
	follow := map[string]int{}
	for i := range s.Keys {
		if k := &s.Keys[i]; k.Because != "" {
			follow[k.Because]++
		}
	}
	for _, look := range looks {
		if s.Paused != nil && look.state == KeyDrifted {
			look.do = func(*KeyStatus) string { return "repairs are paused: `agent resume` has them made" }
		}
		shown, more := 0, 0
		for i := range s.Keys {
			k := &s.Keys[i]
			if k.State != look.state || k.Because != "" {
				continue
			}
			if shown == look.most {
				more++
				continue
			}
			shown++
			t.key(k, &look, follow[k.Key])
		}
		if more > 0 {
			t.say("    ", dim, fmt.Sprintf("and %d more that are %s (-o json lists them)", more, look.word))
		}
	}
	t.pendingEffects(s.PendingEffects)
	t.notes(slices.DeleteFunc(slices.Clone(s.Notes), func(n Note) bool {
		return above(t.why, n.Text) != n.Text || s.Waiting != nil && strings.HasSuffix(n.Text, ": "+s.Waiting.Reason)
	}))
	t.gap()
}

// key writes one key: its state and since when, why, who asked for it, what to do.
func (t *statusText) key(k *KeyStatus, look *keyLook, follow int) {
	t.line("  %s %s", t.paint(look.color, look.mark), t.paint(look.color, Line(k.Key)))
	said := look.word + " for " + t.age(k.Since)
	switch k.State {
	case KeyRepaired:
		said = look.word + " " + t.age(k.Since) + " ago"
	case KeyWaiting:
		said = "for " + t.age(k.Since)
	}
	if k.Count > 1 && k.State != KeyWaiting { // its text has the number
		said += ", repaired " + plural.Of(k.Count, "time")
	}
	writer, text := "", ""
	if k.Writer != "" {
		writer = "; the other writer is " + k.Writer
	}
	if k.Text != "" {
		text = ": " + k.Text
	}
	if k.State == KeyWaiting { // the text says for what
		said += text + writer
	} else {
		said += writer + text
	}
	t.say("      ", "", said)
	if k.Means != "" {
		t.say("      ", red, k.Means)
	}
	if k.Origin != "" {
		t.say("      ", dim, k.Origin)
	}
	if follow > 0 {
		t.say("      ", dim, plural.Of(follow, "other key comes after it", "other keys come after it"))
	}
	t.do("      ", look.do(k))
}

// pendingEffects writes the pending effects.
func (t *statusText) pendingEffects(keys []string) {
	for _, name := range keys {
		t.say("  ", yellow, "… owed: "+strings.TrimPrefix(name, "effect:"))
	}
}

// column is a count that kinds have, by its name: that of a state, or another.
type column struct {
	name, color string
	force       bool // shown also where it is 0 everywhere
}

var columns = []column{
	{"tasks", "", true}, {"right", "", true}, {"failing", red, false}, {"contested", red, false},
	{"drifted", yellow, false}, {"waiting", yellow, false}, {"skipped", yellow, false}, {"not here", dim, false},
	{"repaired", "", true}, {"changed", "", false},
}

func (c column) of(k *KindStatus) int64 {
	switch c.name {
	case "tasks":
		return int64(k.Tasks)
	case "right":
		return int64(k.Right)
	case "repaired":
		return k.Repaired
	case "changed":
		return k.Changed
	}
	return int64(*k.Count(KeyState(c.name)))
}

// kinds writes a table of the kinds, without columns that are empty. Where the table is too wide,
// it writes a line of text for each kind.
func (t *statusText) kinds(list []KindStatus) {
	if len(list) == 0 {
		return
	}
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !c.force && !slices.ContainsFunc(list, func(k KindStatus) bool { return c.of(&k) != 0 })
	})
	name := len("KIND")
	for i := range list {
		name = max(name, utf8.RuneCountInString(list[i].Kind))
	}
	whole := name
	for _, c := range shown {
		whole += 2 + max(len(c.name), 5)
	}
	if t.width > 0 && whole > t.width {
		t.kindLines(list)
		return
	}
	head := pad("KIND", name)
	for _, c := range shown {
		head += "  " + fmt.Sprintf("%*s", max(len(c.name), 5), strings.ToUpper(c.name))
	}
	t.row("", dim, head)
	for i := range list {
		row := pad(Line(list[i].Kind), name)
		for _, c := range shown {
			n, color := c.of(&list[i]), c.color
			cell := strconv.FormatInt(n, 10)
			if n == 0 {
				cell, color = "-", dim
			}
			row += "  " + strings.Repeat(" ", max(len(c.name), 5)-len(cell)) + t.paint(color, cell)
		}
		t.line("%s", row)
	}
	t.gap()
}

func (t *statusText) kindLines(list []KindStatus) {
	for i := range list {
		k := &list[i]
		words := []string{fmt.Sprintf("%d of %d right", k.Right, k.Tasks)}
		for _, c := range columns[2:] {
			if n := c.of(k); n != 0 {
				words = append(words, fmt.Sprintf("%d %s", n, c.name))
			}
		}
		t.say("  ", "", k.Kind+": "+strings.Join(words, ", "))
	}
	t.gap()
}
