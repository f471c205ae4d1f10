// Package report renders what the agent plans and what became of it, as text
// for eyes and as JSON for programs. It is pure: it opens nothing and asks
// nobody.
package report

import (
	"iter"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// PlanVersion names the JSON form of a [Plan]. Fields are added to it; none
// changes its meaning or goes.
const PlanVersion = "netwright.dev/plan/v1"

// Plan is what a pass would do, or did, to a node. Every task is counted;
// those with something to say have a step.
type Plan struct {
	Version    string `json:"version"` // PlanVersion
	Cluster    string `json:"cluster"`
	Node       string `json:"node"`
	NodeGroup  string `json:"nodeGroup,omitempty"`
	Network    string `json:"network"`
	Store      string `json:"store"`
	Generation int64  `json:"generation"`
	Digest     string `json:"digest"`
	// Applied is the last configuration with which a pass ended right; nil: none did, or that was
	// not asked.
	Applied *Generation `json:"applied,omitempty"`
	// LastGood is when these documents were taken from the store, which cannot be used now.
	LastGood *time.Time `json:"lastGood,omitempty"`
	// Waiting is a configuration that is not taken yet: in a dry run the one that the plan is of,
	// else a newer one.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Paused is set where nothing is changed for a while: what is not as wanted has drifted.
	Paused *Paused `json:"paused,omitempty"`
	// Awaits is set where a change is made and awaits its confirmation: until then nothing else is
	// changed.
	Awaits *Awaits `json:"awaits,omitempty"`
	// Off are the switches that keep the daemon from starting, each with what to do to turn it on
	// again: in a dry run.
	Off []string `json:"off,omitempty"`
	// Pinned says that the node does not follow the store: "held at revision 3 by root".
	Pinned string `json:"held,omitempty"`
	// AwaitingBoot are files and units that act at the next boot, and that no boot has proved yet.
	AwaitingBoot []string `json:"awaitingBoot,omitempty"`
	// Class is the highest of its steps': live, reload, restart, drain, replace the node. Empty
	// where nothing changes.
	Class string `json:"class,omitempty"`
	// ClassWhy says what makes it more than live.
	ClassWhy string `json:"classWhy,omitempty"`
	// Switch is set where the documents want another network than the node has.
	Switch *Switch `json:"switch,omitempty"`
	// Rounds are the passes before this one that a command made and that changed something, in
	// order.
	Rounds []Round `json:"rounds,omitempty"`
	// Steps in the order in which they would run.
	Steps   []Step  `json:"steps"`
	Notes   []Note  `json:"notes,omitempty"`
	Summary Summary `json:"summary"`

	// What a [Status] has besides: the tasks of each kind, and the pending effects.
	Kinds          map[string]int `json:"-"`
	PendingEffects []string       `json:"-"`
	// Again is when something is due that this pass left; zero: nothing is.
	Again time.Time `json:"-"`
	// What became of earlier changes: see [Status].
	AwaitingBootSince time.Time `json:"-"`
	Proof             *Proof    `json:"-"`
	Watched           *Watched  `json:"-"`
	Undone            []Undone  `json:"-"`
}

// Round is what an earlier pass of the same command did.
type Round struct {
	Steps   []Step  `json:"steps"`
	Summary Summary `json:"summary"`
}

// AddRound is a plan with the pass that came before it, if that one changed something.
func (p *Plan) AddRound(earlier *Plan) {
	rounds := earlier.Rounds
	if ran(earlier) {
		rounds = append(rounds, Round{earlier.Steps, earlier.Summary})
	}
	p.Rounds = append(rounds, p.Rounds...)
}

// State is what is to be said of a task.
type State string

// The states of a step.
const (
	Planned       State = "planned" // would change
	Done          State = "done"    // changed, and proved to be as wanted
	Waits         State = "waiting" // only time brings what is missing
	Failed        State = "failed"  // could not be planned or applied
	Skipped       State = "skipped" // needs something that failed
	NotApplicable State = "not here"
	Stopped       State = "cancelled"

	// Three states of a key that others changed, and that stays so. What needs it goes on with the
	// key as it is, if it is there at all.
	Contested State = "contested" // they change it again and again, whatever is repaired
	Drifted   State = "drifted"   // spec.drift says to report it
	Ignored   State = "ignored"   // spec.drift says to ignore it
)

// Step is one task with something to say.
type Step struct {
	Key        string   `json:"key"` // the task's first key
	State      State    `json:"state"`
	Gate       string   `json:"gate"` // "before kubelet", "after kubelet"
	Items      []Item   `json:"items,omitempty"`
	Reason     string   `json:"reason,omitempty"`    // what is wrong: "absent", "content differs"
	Why        string   `json:"why,omitempty"`       // what it is for: "required by bridge"
	Origin     string   `json:"origin,omitempty"`    // who asked: "cluster.yaml:12:3"
	Overrides  string   `json:"overrides,omitempty"` // whose value lost
	Effects    []string `json:"asks,omitempty"`      // effects asked for
	Unknown    string   `json:"unknown,omitempty"`   // "until X"
	Disruption string   `json:"disruption,omitempty"`
	// Repair says that the key was as wanted before, under the same configuration, and somebody
	// changed it.
	Repair bool `json:"repair,omitempty"`
	// what taking it costs, of a step that changes something; see [Plan].Class
	Class    string `json:"class,omitempty"`
	ClassWhy string `json:"classWhy,omitempty"` // what makes it more than live
	// Count is how often it was repaired in the conflict that goes on, and Writer who else writes
	// the key, where that can be known.
	Count  int    `json:"count,omitempty"`
	Writer string `json:"writer,omitempty"`
	// By is the process that Writer names.
	By host.WriterID `json:"-"`
	// Pods says of a key that is lost, or that somebody else keeps writing, that pods stand on it;
	// Means says what they lack then.
	Pods  bool   `json:"pods,omitempty"`
	Means string `json:"means,omitempty"`
	// Message says what is waited for, what failed and what to do, or why not here.
	Message string `json:"message,omitempty"`
	// Refused says of a step that failed by what its change is refused: the node is as it was
	// without it.
	Refused Refusal `json:"refused,omitempty"`
	// Isolated says of a step that failed that nothing but what needs it is held up for it.
	Isolated bool `json:"-"`
	// Fetching says of a step that waits that what it needs is being fetched: it was not there
	// before.
	Fetching bool `json:"fetching,omitempty"`
	// Because is the key that failed or waits, where this step only shares its fate.
	Because string `json:"because,omitempty"`
}

// Refusal is by what the change of a key is refused.
type Refusal string

// The refusals.
const (
	RefusedByRule Refusal = "rule" // no document may write or switch it
	RefusedByBoot Refusal = "boot" // the first boot with it failed
	RefusedByUnit Refusal = "unit" // a unit did not come up with it
)

// Item is one key that changes.
type Item struct {
	Key    string  `json:"key"`
	Op     string  `json:"op"` // + ~ - !
	Fields []Field `json:"fields,omitempty"`
	Diff   string  `json:"diff,omitempty"` // unified; never of a secret
}

// Field is an attribute with its old and new value.
type Field struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}

// Note is something that a person should know and that is no change.
type Note struct {
	Level  string `json:"level"` // info, warning, error
	Origin string `json:"origin,omitempty"`
	Text   string `json:"text"`
}

// Warning is a note that somebody should look at.
func Warning(text string) Note { return Note{Level: "warning", Text: text} }

// Info is a note that is good to know.
func Info(text string) Note { return Note{Level: "info", Text: text} }

// Warn adds a warning.
func (p *Plan) Warn(text string) { p.Notes = append(p.Notes, Warning(text)) }

// Summary counts keys for what changes, and tasks for everything else.
type Summary struct {
	Tasks int `json:"tasks"`
	Right int `json:"right"` // as wanted: found so, or made so

	Create        int `json:"create"`
	Update        int `json:"update"`
	Remove        int `json:"remove"`
	Run           int `json:"run"`
	Waiting       int `json:"waiting"`
	Failed        int `json:"failed"`
	Skipped       int `json:"skipped"`
	NotApplicable int `json:"notHere"`
	Unknown       int `json:"unknown"`
	// Repairs are those of the keys counted above that were as wanted before, and that somebody
	// changed. Effects are not counted.
	Repairs   int `json:"repairs"`
	Contested int `json:"contested"`
	Drifted   int `json:"drifted"`
	Ignored   int `json:"ignored"`
}

// Changes is the number of keys that change and effects that are done.
func (s Summary) Changes() int { return s.Create + s.Update + s.Remove + s.Run }

// FromChange fills a step's items from what a task planned. Of a secret no
// value and no content is taken over, whatever the task left in.
func FromChange(step *Step, c *tasks.Change, secret bool) {
	step.Reason, step.Unknown = c.Reason, c.Unknown
	if c.NotApplicable == "" {
		class, why := tasks.ClassOf(graph.Key(step.Key), c)
		step.Class, step.ClassWhy = class.String(), why
	}
	for _, ask := range c.Effects {
		step.Effects = append(step.Effects, string(ask))
	}
	switch c.Disruption {
	case tasks.RestartsUnit:
		step.Disruption = restartsUnit
	case tasks.MayCutOff:
		step.Disruption = mayCutOff
	case tasks.NoDisruption:
	}
	for _, it := range c.Items {
		item := Item{Key: string(it.Key), Op: string(it.Op)}
		if !secret {
			item.Diff = Unified(string(it.Key), it.Before, it.After)
		}
		for _, f := range it.Fields {
			if secret && f.Name == "value" {
				f.Before, f.After = "secret", "another secret"
			}
			item.Fields = append(item.Fields, Field(f))
		}
		step.Items = append(step.Items, item)
	}
}

// Disruptions, as a step names them.
const (
	restartsUnit = "restarts a unit"
	mayCutOff    = "may cut the node off"
)

// Finish completes a plan of which all steps are there: a key that several
// tasks list, such as a directory that each would have to make, stays with the
// first; and the summary is counted. looked is how many tasks were looked at.
func (p *Plan) Finish(looked int) {
	p.Version = PlanVersion
	if p.Steps == nil {
		p.Steps = []Step{}
	}
	p.Class, p.ClassWhy = "", ""
	s := Summary{Tasks: looked, Right: looked - len(p.Steps)}
	seen := map[string]bool{}
	for i := range p.Steps {
		step := &p.Steps[i]
		switch step.State {
		case Planned, Done:
			step.Items = slices.DeleteFunc(step.Items, func(it Item) bool {
				again := seen[it.Key]
				seen[it.Key] = true
				return again
			})
			s.count(step)
			p.Raise(step.Class, step.ClassWhy)
		case Waits:
			s.Waiting++
		case Failed:
			s.Failed++
		case Skipped, Stopped:
			s.Skipped++
		case NotApplicable:
			s.NotApplicable++
		case Contested:
			s.Contested++
		case Drifted:
			s.Drifted++
		case Ignored:
			s.Ignored++
		}
	}
	p.Summary = s
}

// Raise lifts the plan's class to a higher one, with what makes it so.
func (p *Plan) Raise(class, why string) {
	if p.Class == "" || tasks.ParseClass(class) > tasks.ParseClass(p.Class) {
		p.Class, p.ClassWhy = class, why
	}
}

func (s *Summary) count(step *Step) {
	if step.State == Done {
		s.Right++
	}
	if step.Unknown != "" && step.State == Planned {
		s.Unknown++
	}
	for _, it := range step.Items {
		if step.Repair && it.Op != "!" {
			s.Repairs++
		}
		switch it.Op {
		case "+":
			s.Create++
		case "~":
			s.Update++
		case "-":
			s.Remove++
		case "!":
			s.Run++
		}
	}
}

// ran says that the plan is of a run, not of what one would do.
func ran(p *Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.State == Done })
}

// NotApplied makes it a plan of which nothing was done, or nothing is left, with the reason.
func (p *Plan) NotApplied(why error) *Plan {
	p.Warn(why.Error())
	p.Leave(Stopped, "not applied: see the note")
	return p
}

// Leave makes it a plan of which nothing is made: what was planned is in another state, and says
// why.
func (p *Plan) Leave(state State, why string) {
	for s := range p.In(Planned) {
		s.State, s.Message = state, why
	}
	p.Finish(p.Summary.Tasks)
}

// In are the steps that are in one of some states.
func (p *Plan) In(states ...State) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i := range p.Steps {
			if s := &p.Steps[i]; slices.Contains(states, s.State) && !yield(s) {
				return
			}
		}
	}
}
