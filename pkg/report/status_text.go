package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
)

// StatusOptions says how a status is written as text.
type StatusOptions struct {
	Color bool
	Width int       // of the terminal, in characters; 0: no limit
	Now   time.Time // ages are counted from it
}

// StatusText writes a status as text, for a person on call. First come the state and what is wrong,
// each with what to do; then the counts by kind; then what is good to know.
func StatusText(w io.Writer, v StatusView, opt StatusOptions) error {
	t := &statusText{text: text{opt: TextOptions{Color: opt.Color}}, width: opt.Width, now: opt.Now,
		served: v.Daemon.Running}
	t.daemon(v.Daemon, v.Status)
	if v.Status != nil {
		t.head(v.Status)
		t.pinned(v.Status)
		t.troubles(v.Status)
		t.kinds(v.Kinds)
		t.details(v.Status)
	}
	return writeText(w, "the status", &t.b)
}

// stateColor shows how urgent a state is.
var stateColor = map[NodeState]string{
	NodeCritical: red, NodeFailing: red, NodeContested: red, NodeDrifted: yellow, NodePaused: yellow,
	NodeWaiting: yellow, NodeSilent: yellow, NodeConverged: green, NodeStarting: dim,
}

// daemon writes first of all that no daemon runs, and why: the rest of the text is then from the
// past.
func (t *statusText) daemon(d Daemon, s *Status) {
	if !d.Running {
		t.say("", red, "✗ no daemon runs here: "+cmp.Or(d.Why, "the reason is not known"))
		t.do("  ", d.Do)
		if s != nil {
			t.say("  ", "", fmt.Sprintf("below is the status of %s ago, the last that a daemon (pid %d) "+
				"wrote", t.age(s.At), s.Agent.PID))
		}
		t.gap()
	}
	for _, off := range d.Off {
		t.say("", yellow, "! "+off)
	}
	t.gap()
}

// head writes the node, its state and its configuration.
func (t *statusText) head(s *Status) {
	who := t.paint(bold, Line(s.Node))
	if s.NodeGroup != "" {
		who += " (" + Line(s.NodeGroup) + ")"
	}
	if s.Cluster != "" {
		who += " of " + Line(s.Cluster)
	}
	if s.Network != "" {
		who += ", network " + t.paint(bold, Line(s.Network))
	}
	t.line("%s", who)
	state := string(s.State)
	if t.why = headline(s); t.why != "" {
		state += ": " + t.why
	}
	t.say("", stateColor[s.State], state)
	t.services(s.Services)
	t.configuration(s.Configuration)
}

// headline returns the reason of the state. For a key with a long text it is the key and its
// meaning, for a service with a long text its name, because the text comes below.
func headline(s *Status) string {
	if d := s.Down(); d != nil && len(d.Text) > headText {
		if short, cut := strings.CutSuffix(s.Reason, ": "+d.Text); cut {
			return short
		}
	}
	for i := range s.Keys {
		k := &s.Keys[i]
		if short, cut := strings.CutSuffix(s.Reason, ": "+k.Text); cut && len(k.Text) > headText &&
			strings.HasPrefix(s.Reason, k.Key) {
			return short
		}
	}
	return s.Reason
}

func (t *statusText) configuration(c Configuration) {
	switch {
	case c.Digest != "":
		t.say("", dim, fmt.Sprintf("%s, from %s, %s", nameAndDigest(c.Generation, c.Digest), c.from(), t.checked(c)))
	case c.Wanted != nil:
		t.say("", dim, fmt.Sprintf("no generation is applied yet, from %s, %s", c.Store, t.checked(c)))
	default:
		t.say("", dim, "no configuration yet, from "+c.Store)
	}
	if p := c.Published; p != nil && p.By != "" {
		t.say("  ", dim, fmt.Sprintf("generation %d was published %s by %s", p.Number, ago(p.At, t.now), p.By))
	}
	if c.Wanted != nil && (!c.Wanted.Is(c.Applied) || c.Published != nil && !c.Published.Is(c.Wanted)) {
		t.say("  ", yellow, fmt.Sprintf("published is %s, wanted %s, applied %s", c.Published.name(),
			c.Wanted.name(), c.Applied.name()))
	}
	if !c.LastGood.IsZero() {
		t.say("  ", yellow, fmt.Sprintf("the last good configuration: the store could not be used since the daemon "+
			"began, and this was taken from it %s", ago(c.LastGood, t.now)))
	}
	if c.Untrusted {
		t.say("  ", red, "what the store has is not trusted: "+above(t.why, c.Error))
	} else if c.Error != "" {
		t.say("  ", yellow, "the newest generation cannot be used: "+above(t.why, c.Error))
	}
	switch {
	case c.Silent.IsZero():
	case c.Digest == "":
		t.say("  ", yellow, fmt.Sprintf("the store was not read for %s, and no configuration was applied here before",
			t.age(c.Silent)))
	default:
		t.say("  ", yellow, fmt.Sprintf("the store was not read for %s: the agent repairs what is applied, and the "+
			"node stays READY; it does not get what was published since then", t.age(c.Silent)))
	}
	if c.Pinned {
		t.say("  ", yellow, "pinned: the store has another configuration, which this node does not take")
		t.do("    ", "set pin in the agent's file to that one, or take pin out, to go on")
	}
	if !c.Expires.IsZero() && c.Expires.Sub(t.now) < expiresSoon {
		t.say("  ", yellow, fmt.Sprintf("it expires at %s: publish it again (agent store publish)", Stamp(c.Expires)))
	}
}

// expiresSoon is how long before its expiry a configuration is reported.
const expiresSoon = 7 * 24 * time.Hour

func (t *statusText) checked(c Configuration) string {
	if c.Checked.IsZero() && c.Error == "" {
		return "no pass that asked the store has ended yet"
	}
	if c.Checked.IsZero() {
		return "the store has not answered yet"
	}
	if c.Error != "" { // it is not known what the store has now
		return "last known to be the newest " + t.age(c.Checked) + " ago"
	}
	if c.Published != nil && !c.Published.Is(c.Applied) { // the applied one is not the newest
		return "which was asked " + t.age(c.Checked) + " ago"
	}
	return "the newest " + t.age(c.Checked) + " ago"
}

// pinned writes what keeps the node from following the store.
func (t *statusText) pinned(s *Status) {
	if w := s.Waiting; w != nil {
		until := ""
		if !w.Until.IsZero() && !strings.Contains(w.Reason, Stamp(w.Until)) {
			until = ", until " + Stamp(w.Until)
		}
		t.say("", yellow,
			fmt.Sprintf("… %s, waits%s: %s%s", nameAndDigest(w.Generation, w.Digest), w.class(), above(t.why, w.Reason), until))
		if w.Class != "" { // the reason of an undone one says what to do
			t.do("  ", "`agent resume --apply` lets it go on this node now")
		}
	}
	if s.Pinned != "" {
		t.say("", yellow, "! "+s.Pinned)
		t.do("  ", "`agent resume` follows the store again")
	}
	if a := s.Awaits; a != nil {
		t.say("", yellow, fmt.Sprintf("! %s, %s from now", a, span(a.Until.Sub(t.now))))
		t.do("  ", "`agent confirm` in a new login keeps it, `agent undo` takes it back now")
	}
	if p := s.Paused; p != nil {
		by := ""
		if p.By != "" {
			by = " by " + p.By
		}
		t.say("", yellow, strings.TrimSuffix(fmt.Sprintf("! paused%s until %s, %s from now: %s", by, Stamp(p.Until),
			span(p.Until.Sub(t.now)), p.Reason), ": "))
		t.do("  ", "`agent resume` ends it before")
	}
	if len(s.AwaitingBoot) > 0 {
		line := "awaiting boot: " + Listed(s.AwaitingBoot)
		if since := s.AwaitingBootSince; !since.IsZero() && !since.After(t.now) {
			line += ", for " + t.age(since)
		}
		t.say("", "", line)
	}
	if !s.Prepared && s.State != NodeStarting {
		t.say("", yellow, "! not prepared: kubelet may be held back")
	}
}

// Line returns the status on one line: the state, the reason, and the configuration.
func (s *Status) Line() string {
	right, tasks := 0, 0
	for i := range s.Kinds {
		right, tasks = right+s.Kinds[i].Right, tasks+s.Kinds[i].Tasks-s.Kinds[i].NotApplicable
	}
	parts := []string{fmt.Sprintf("%s: %s", cmp.Or(s.Node, "this node"), s.State)}
	if s.Reason != "" {
		parts[0] += ": " + s.Reason
	}
	if tasks > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d right", right, tasks))
	}
	if s.Configuration.Digest != "" || s.Configuration.Wanted != nil {
		parts = append(parts, s.Configuration.Text())
	}
	return Line(strings.Join(strings.Fields(strings.Join(parts, "; ")), " "))
}
