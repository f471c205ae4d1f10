package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/netwright/netwright/pkg/plural"
)

// Text writes a plan as text. First comes a line for each change with + ~ - or !, in the order of
// the run. What needs a person comes last, next to the prompt: waits, failures with the tasks that
// they block, interruptions, and a summary line.
func Text(w io.Writer, p *Plan, opt TextOptions) error {
	t := &planText{text{opt: opt}}
	if !opt.Brief {
		if !opt.NoHeader {
			t.header(p)
		}
		t.switchOf(p.Switch)
		t.changes(p)
		t.groups(p, NotApplicable, dim)
		t.groups(p, Ignored, dim)
		t.notes(p.Notes)
	} else {
		t.notes(opt.News)
	}
	t.waits(p)
	if len(p.AwaitingBoot) > 0 {
		t.line("awaiting boot: %s", Line(Listed(p.AwaitingBoot)))
	}
	t.groups(p, Stopped, yellow)
	t.left(p)
	t.failures(p)
	t.gap()
	t.interruptions(p)
	t.summary(p)
	return writeText(w, "the plan", &t.b)
}

func (t *planText) header(p *Plan) {
	if p.Network == "" && p.Store == "" { // a reset of a node that had nothing
		t.line("no revision was ever applied here")
		t.gap()
		return
	}
	who := p.Node
	if p.NodeGroup != "" {
		who += " (" + p.NodeGroup + ")"
	}
	t.line("%s of %s, network %s", t.paint(bold, Line(who)), Line(p.Cluster), t.paint(bold, Line(p.Network)))
	t.row("", dim, fmt.Sprintf("from %s, %s", p.Store, nameAndDigest(p.Generation, p.Digest)))
	if p.Pinned != "" {
		t.row("", yellow, p.Pinned+": the store is not followed before `agent resume`")
	}
	t.gap()
}

// summary writes the last line: what failed, what there is to do or was done, and how many tasks
// are right.
func (t *planText) summary(p *Plan) {
	s, parts := p.Summary, []string(nil)
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Failed, "failed")
	add(s.Skipped, "not reached")
	if done := work(p); done != "" {
		parts = append(parts, done)
	} else if p.Switch != nil && p.Switch.Blocked != "" {
		parts = append(parts, "the switch is not made, and nothing else is to do")
	} else if s.Failed == 0 && s.Skipped == 0 {
		parts = append(parts, "nothing to do")
	}
	add(s.Unknown, "unknown until later")
	add(s.Waiting, "waiting")
	add(s.Contested, "contested")
	add(s.Drifted, "drifted")
	add(s.Ignored, "ignored")
	parts = append(parts, fmt.Sprintf("%d of %d right", s.Right, s.Tasks-s.NotApplicable))
	add(s.NotApplicable, "not set here")
	color := ""
	switch {
	case s.Failed > 0 || s.Skipped > 0:
		color = red
	case s.Contested > 0 || s.Drifted > 0:
		color = yellow
	case p.Switch != nil && p.Switch.Blocked != "":
		color = yellow
	case s.Changes() == 0 || ran(p):
		color = green
	}
	t.row("", color, strings.Join(parts, "; "))
}

// work returns the counts of changes: "to do: 3 new, 1 changed", or "done: …" after a run.
func work(p *Plan) string {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{p.Summary.Create, "new", "new"}, {p.Summary.Update, "changed", "changed"},
		{p.Summary.Remove, "removed", "removed"}, {p.Summary.Run, "action", "actions"},
	} {
		if c.n > 0 {
			parts = append(parts, plural.Of(c.n, c.one, c.many))
		}
	}
	if n := p.Summary.Repairs; n > 0 && len(parts) > 0 {
		parts[len(parts)-1] += " (" + plural.Of(n, "repair") + ")"
	}
	switch {
	case len(parts) == 0:
		return ""
	case ran(p):
		return "done: " + strings.Join(parts, ", ")
	}
	return "to do: " + strings.Join(parts, ", ")
}
