package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/tasks"
)

// shownKeys is how many of the keys that follow another one are named.
const shownKeys = 8

// waits writes the steps that wait, each with the keys that wait for it.
func (t *planText) waits(p *Plan) {
	t.roots(p, Waits, Waits, yellow, "…",
		func(s *Step) string { return "waiting for " + strings.TrimPrefix(s.Message, "waiting for ") }, "waits too:")
}

// failures writes the steps that failed, each with the keys that were not tried because of it.
func (t *planText) failures(p *Plan) {
	t.roots(p, Failed, Skipped, red, "✗", func(s *Step) string {
		asked := strings.Join(slices.DeleteFunc([]string{s.Why, s.Origin},
			func(part string) bool { return part == "" }), " · ")
		return strings.TrimRight(s.Message, "\n") + "\n" + asked
	}, "not tried because of it:")
}

// left writes the drift that is not repaired: for each key the difference, and who made it, if
// known.
func (t *planText) left(p *Plan) {
	first := true
	for s := range p.In(Contested, Drifted) {
		if first {
			t.gap()
			first = false
		}
		line := t.paint(yellow, "≠ "+Line(s.Key))
		for _, it := range s.Items {
			if f := fields(it); f != "" && it.Key == s.Key {
				line += "  " + Line(f)
			}
		}
		t.line("  %s", line)
		t.row("      ", "", s.Message)
	}
}

// roots writes the steps of a state that do not follow another one, and below each the keys that
// follow it.
func (t *planText) roots(p *Plan, state, follow State, color, mark string, what func(*Step) string, held string) {
	first := true
	for s := range p.In(state) {
		if s.Because != "" {
			continue
		}
		if first {
			t.gap()
			first = false
		}
		t.line("  %s %s", t.paint(color, mark), t.paint(color, Line(s.Key)))
		for line := range strings.Lines(what(s)) {
			t.row("      ", "", strings.TrimSuffix(line, "\n"))
		}
		var keys []string
		for with := range p.In(follow) {
			if with.Because == s.Key {
				keys = append(keys, with.Key)
			}
		}
		if len(keys) > 0 {
			t.row("      ", dim, held)
			t.keys(keys)
		}
	}
}

func (t *planText) keys(keys []string) {
	for i, k := range keys {
		if i == shownKeys && len(keys) > shownKeys+1 {
			t.row("        ", dim, fmt.Sprintf("… and %d more", len(keys)-shownKeys))
			return
		}
		t.row("        ", dim, k)
	}
}

// groups writes the keys of a state below the message that they share, several on a line. The JSON
// has their values.
func (t *planText) groups(p *Plan, state State, color string) {
	byMessage, order := map[string][]string{}, []string(nil)
	for s := range p.In(state) {
		if _, ok := byMessage[s.Message]; !ok {
			order = append(order, s.Message)
		}
		byMessage[s.Message] = append(byMessage[s.Message], Line(s.Key))
	}
	for _, message := range order {
		keys := byMessage[message]
		if len(keys) > maxListed {
			keys = kinds(keys)
		}
		t.line("  %s %s:", t.paint(color, "·"), Line(message))
		for i := range keys[1:] {
			keys[i] += ","
		}
		for _, line := range fold(keys, 110) {
			t.row("      ", dim, line)
		}
	}
}

// maxListed is how many keys of one message are listed by name.
const maxListed = 16

// kinds counts keys by their kind, in the order in which the kinds appear: "20 sysctl".
func kinds(keys []string) (out []string) {
	count, order := map[string]int{}, []string(nil)
	for _, k := range keys {
		kind, _, _ := strings.Cut(k, ":")
		if count[kind]++; count[kind] == 1 {
			order = append(order, kind)
		}
	}
	for _, kind := range order {
		out = append(out, fmt.Sprintf("%d %s", count[kind], kind))
	}
	out[len(out)-1] += " (-o json lists them)"
	return out
}

// interruptions repeats at the end what the changes interrupt.
func (t *planText) interruptions(p *Plan) {
	var restarts, reloads, stops, cut []string
	for s := range p.In(Planned, Done) {
		for _, it := range s.Items {
			if unit, ok := strings.CutPrefix(it.Key, "effect:restart "); ok {
				restarts = append(restarts, unit)
			} else if unit, ok := strings.CutPrefix(it.Key, "effect:reload "); ok {
				reloads = append(reloads, unit)
			}
		}
		switch {
		case s.Disruption == mayCutOff && s.State == Planned:
			cut = append(cut, s.Key)
		case s.Disruption == restartsUnit && !strings.HasPrefix(s.Key, "effect:"):
			stops = append(stops, strings.TrimPrefix(s.Key, "unit:"))
		}
	}
	if tasks.ParseClass(p.Class) > tasks.ClassLive && !ran(p) {
		t.line("class: %s (%s)", t.paint(yellow, p.Class), Line(p.ClassWhy))
	}
	words := []string{"will restart:", "will reload:", "will stop:", "may cut the node off:"}
	if ran(p) {
		words = []string{"restarted:", "reloaded:", "stopped:", ""}
	}
	for i, list := range [][]string{restarts, reloads, stops, cut} {
		if len(list) > 0 {
			t.line("%s %s", t.paint([]string{yellow, yellow, yellow, red}[i], words[i]),
				Line(strings.Join(list, ", ")))
		}
	}
}
