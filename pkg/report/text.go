package report

import (
	"fmt"
	"io"
	"strings"
)

// TextOptions says how a plan is written for eyes.
type TextOptions struct {
	Color bool // ANSI colours: only for a terminal
	Diffs bool // unified diffs of files
	Quiet bool // only what needs a person: failures and waits, and the summary
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// Text writes a plan for eyes: a line for each change with + ~ - or !, what
// differs, why, and who asked for it.
func Text(w io.Writer, p *Plan, opt TextOptions) error {
	t := &text{opt: opt}
	t.header(p)
	var elsewhere []Step
	for _, step := range p.Steps {
		if step.State == NotHere {
			elsewhere = append(elsewhere, step)
			continue
		}
		if !opt.Quiet || step.State == Failed || step.State == Waits {
			t.step(step)
		}
	}
	t.notHere(elsewhere)
	for _, n := range p.Notes {
		t.note(n)
	}
	t.summary(p)
	_, err := io.WriteString(w, t.b.String())
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

type text struct {
	b   strings.Builder
	opt TextOptions
}

func (t *text) paint(color, s string) string {
	if !t.opt.Color || s == "" {
		return s
	}
	return color + s + plain
}

func (t *text) header(p *Plan) {
	who := p.Node
	if p.NodeGroup != "" {
		who += " (" + p.NodeGroup + ")"
	}
	digest := p.Digest
	if len(digest) > 12 {
		digest = digest[:12]
	}
	fmt.Fprintf(&t.b, "%s of %s, network %s\n", t.paint(bold, who), p.Cluster, t.paint(bold, p.Network))
	fmt.Fprintf(&t.b, "%s\n\n", t.paint(dim, fmt.Sprintf("from %s, generation %d, %s", p.Store, p.Generation, digest)))
}

func (t *text) step(s Step) {
	switch s.State {
	case Planned, Done:
		for i, it := range s.Items {
			t.item(it, s, i == len(s.Items)-1)
		}
	case Waits:
		fmt.Fprintf(&t.b, "  %s %s\n", t.paint(yellow, "…"), s.Key)
		t.indent("waiting: " + strings.TrimPrefix(s.Message, "waiting for "))
	case Failed:
		fmt.Fprintf(&t.b, "  %s %s\n", t.paint(red, "✗"), t.paint(red, s.Key))
		t.indent(s.Message)
		t.asked(s)
	case Skipped, Stopped:
		fmt.Fprintf(&t.b, "  %s %s  %s\n", t.paint(dim, "·"), s.Key, t.paint(dim, s.Message))
	case NotHere:
	}
}

var opColor = map[string]string{"+": green, "~": yellow, "-": red, "!": bold}

// item writes one changed key; what is said of the whole task follows its last item.
func (t *text) item(it Item, s Step, last bool) {
	fmt.Fprintf(&t.b, "  %s %s", t.paint(opColor[it.Op], it.Op), it.Key)
	if v := fields(it); v != "" {
		t.b.WriteString("  " + v)
	}
	if s.Unknown != "" {
		t.b.WriteString("  " + t.paint(yellow, "unknown "+s.Unknown))
	}
	t.b.WriteString("\n")
	if t.opt.Diffs {
		for line := range strings.Lines(it.Diff) {
			t.diffLine(strings.TrimSuffix(line, "\n"))
		}
	}
	if last {
		t.asked(s)
	}
}

// fields is "mode 0600 → 0644, owner …"; a field named "value" needs no name.
func fields(it Item) string {
	var parts []string
	for _, f := range it.Fields {
		name := f.Name + " "
		if f.Name == "value" || f.Name == "" {
			name = ""
		}
		if f.Before == "" {
			parts = append(parts, name+f.After)
			continue
		}
		parts = append(parts, name+f.Before+" → "+f.After)
	}
	return strings.Join(parts, ", ")
}

func (t *text) diffLine(line string) {
	color := ""
	switch {
	case strings.HasPrefix(line, "+"):
		color = green
	case strings.HasPrefix(line, "-"):
		color = red
	case strings.HasPrefix(line, "@@"):
		color = dim
	}
	if color != "" {
		line = t.paint(color, line)
	}
	t.b.WriteString("      " + line + "\n")
}

// asked says why the step is there, who asked, whom it overrides, what follows.
func (t *text) asked(s Step) {
	var parts []string
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	if s.Why != "" {
		parts = append(parts, s.Why)
	}
	if s.Origin != "" {
		parts = append(parts, s.Origin)
	}
	if s.Overrides != "" {
		parts = append(parts, "overrides "+s.Overrides)
	}
	if len(s.Asks) > 0 {
		parts = append(parts, "then "+effectNames(s.Asks))
	}
	if s.Disruption != "" {
		parts = append(parts, s.Disruption)
	}
	if len(parts) > 0 {
		t.b.WriteString("      " + t.paint(dim, strings.Join(parts, " · ")) + "\n")
	}
}

func effectNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		_, names[i], _ = strings.Cut(k, ":")
	}
	return strings.Join(names, ", ")
}

func (t *text) indent(s string) {
	for line := range strings.Lines(s) {
		t.b.WriteString("      " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// notHere lists the keys that are listed and never set on this host.
func (t *text) notHere(steps []Step) {
	if len(steps) == 0 || t.opt.Quiet {
		return
	}
	byReason := map[string][]string{}
	var order []string
	for _, s := range steps {
		if _, ok := byReason[s.Message]; !ok {
			order = append(order, s.Message)
		}
		for _, it := range s.Items {
			byReason[s.Message] = append(byReason[s.Message], strings.TrimSpace(it.Key+" "+fields(it)))
		}
	}
	for _, reason := range order {
		fmt.Fprintf(&t.b, "  %s %s:\n", t.paint(dim, "·"), reason)
		for _, key := range byReason[reason] {
			t.b.WriteString("      " + t.paint(dim, key) + "\n")
		}
	}
}

func (t *text) note(n Note) {
	color, word := dim, "note"
	if n.Level == "warning" {
		color, word = yellow, "warning"
	}
	from := ""
	if n.Origin != "" {
		from = " (" + n.Origin + ")"
	}
	fmt.Fprintf(&t.b, "  %s %s%s\n", t.paint(color, word+":"), n.Text, t.paint(dim, from))
}

func (t *text) summary(p *Plan) {
	s := p.Summary
	did := "to do"
	for _, step := range p.Steps {
		if step.State == Done {
			did = "done"
			break
		}
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if s.Changes() == 0 {
		parts = append(parts, "nothing to do")
	} else {
		parts = append(parts, fmt.Sprintf("%s: %d new, %d changed, %d removed, %d effects", did, s.Create, s.Update, s.Remove, s.Run))
	}
	add(s.Unknown, "unknown until later")
	add(s.Waiting, "waiting")
	add(s.Failed, "failed")
	add(s.Skipped, "skipped")
	add(s.NotHere, "not set here")
	parts = append(parts, fmt.Sprintf("%d of %d right", s.Right, s.Tasks))
	line := strings.Join(parts, "; ")
	if s.Failed > 0 {
		line = t.paint(red, line)
	}
	t.b.WriteString(line + "\n")
}
