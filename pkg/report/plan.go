// Package report writes plans and statuses of the agent as text for people and as JSON for
// programs. It has no side effects: it opens no file and makes no request.
//
// # Files
//
//   - a plan as JSON, and what identifies it: plan, plan_intent
//   - a plan as text: plan_text*
//   - a status as JSON, and the verdict on it: status, status_view, service_status
//   - a status as text: status_text, status_keys, status_details, status_lines
//   - what changed between two statuses: status_watch, event
//   - parts of both: network_switch, proof_and_undo
//   - how times, differences and text are written: clock, diff, json, yaml, stable_text, text_lines
package report

import (
	"iter"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// PlanVersion names the JSON form of a [Plan]. New fields may be added; existing ones stay with
// their meaning.
const PlanVersion = "netwright.dev/plan/v1"

// Plan is what a pass would do, or did, to a node. It counts all tasks, and has a step for each
// task that is not simply right.
type Plan struct {
	Version    string `json:"version"` // PlanVersion
	Cluster    string `json:"cluster"`
	Node       string `json:"node"`
	NodeGroup  string `json:"nodeGroup,omitempty"`
	Network    string `json:"network"`
	Store      string `json:"store"`
	Generation int64  `json:"generation"`
	Digest     string `json:"digest"`
	// Applied is the last configuration with which a pass ended right; nil: none, or unknown.
	Applied *Generation `json:"applied,omitempty"`
	// LastGood is when these documents were fetched, where the store cannot be used now.
	LastGood *time.Time `json:"lastGood,omitempty"`
	// Waiting is a configuration that is not applied yet. In a dry run the plan is the one of this
	// configuration; otherwise it is a newer one.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Paused is set during a pause, in which nothing is changed: a key that is not as wanted has
	// drifted.
	Paused *Paused `json:"paused,omitempty"`
	// Awaits is set where a change awaits its confirmation. Until then nothing else is changed.
	Awaits *Awaits `json:"awaits,omitempty"`
	// Off are the switches that keep the daemon from starting, each with what to do to turn it on
	// again. Only a dry run has them.
	Off []string `json:"off,omitempty"`
	// Pinned says that the node does not follow the store: "held at revision 3 by root".
	Pinned string `json:"held,omitempty"`
	// AwaitingBoot are files and units that take effect at the next boot, and that no boot has
	// proved yet.
	AwaitingBoot []string `json:"awaitingBoot,omitempty"`
	// Class is the highest class of the steps: live, reload, restart, drain, replace the node. It
	// is empty where nothing changes.
	Class string `json:"class,omitempty"`
	// ClassWhy says why the class is above live.
	ClassWhy string `json:"classWhy,omitempty"`
	// Switch is set where the documents want another network than the node has.
	Switch *Switch `json:"switch,omitempty"`
	// Rounds are the earlier passes of the same command that changed something, in order.
	Rounds []Round `json:"rounds,omitempty"`
	// Steps are in the order of the run.
	Steps   []Step  `json:"steps"`
	Notes   []Note  `json:"notes,omitempty"`
	Summary Summary `json:"summary"`

	// Only for the [Status]: the tasks of each kind, and the pending effects.
	Kinds          map[string]int `json:"-"`
	PendingEffects []string       `json:"-"`
	// Again is when a pass is due for what this one left; zero: not at all.
	Again time.Time `json:"-"`
	// The results of earlier changes: see [Status].
	AwaitingBootSince time.Time `json:"-"`
	Proof             *Proof    `json:"-"`
	Watched           *Watched  `json:"-"`
	Undone            []Undone  `json:"-"`
}

// Round is an earlier pass of the same command.
type Round struct {
	Steps   []Step  `json:"steps"`
	Summary Summary `json:"summary"`
}

// AddRound adds the pass before this one to the plan, if it changed something.
func (p *Plan) AddRound(earlier *Plan) {
	rounds := earlier.Rounds
	if ran(earlier) {
		rounds = append(rounds, Round{earlier.Steps, earlier.Summary})
	}
	p.Rounds = append(rounds, p.Rounds...)
}

// State is the state of a task in a plan.
type State string

// The states of a step.
const (
	Planned       State = "planned" // would change
	Done          State = "done"    // changed, and then found as wanted
	Waits         State = "waiting" // only time can bring what is missing
	Failed        State = "failed"  // could not be planned or applied
	Skipped       State = "skipped" // a key that it needs failed
	NotApplicable State = "not here"
	Stopped       State = "cancelled"

	// Three states of a key that others changed, and that the pass leaves so. A key that needs it
	// is applied nevertheless, if this one exists.
	Contested State = "contested" // others change it after each repair
	Drifted   State = "drifted"   // spec.drift says to report it
	Ignored   State = "ignored"   // spec.drift says to ignore it
)

// Step is one task that is not simply right.
type Step struct {
	Key        string   `json:"key"` // the task's first key
	State      State    `json:"state"`
	Gate       string   `json:"gate"` // "before kubelet", "after kubelet"
	Items      []Item   `json:"items,omitempty"`
	Reason     string   `json:"reason,omitempty"`    // what is wrong: "absent", "content differs"
	Why        string   `json:"why,omitempty"`       // its purpose: "required by bridge"
	Origin     string   `json:"origin,omitempty"`    // who asked for it: "cluster.yaml:12:3"
	Overrides  string   `json:"overrides,omitempty"` // the value that it overrides
	Effects    []string `json:"asks,omitempty"`      // effects that it asks for
	Unknown    string   `json:"unknown,omitempty"`   // "until X"
	Disruption string   `json:"disruption,omitempty"`
	// Repair says that the key was as wanted before, with the same configuration, and another
	// program or person changed it.
	Repair bool `json:"repair,omitempty"`
	// Class is what the change costs; see [Plan].Class.
	Class    string `json:"class,omitempty"`
	ClassWhy string `json:"classWhy,omitempty"` // why the class is above live
	// Count is how often the key was repaired in the present conflict. Writer is the other program
	// that writes it, if known.
	Count  int    `json:"count,omitempty"`
	Writer string `json:"writer,omitempty"`
	// By is the process that Writer names.
	By host.WriterID `json:"-"`
	// Pods says that pods depend on a key that is lost or that another program keeps changing.
	// Means says what pods lack then.
	Pods  bool   `json:"pods,omitempty"`
	Means string `json:"means,omitempty"`
	// Message says what is awaited, what failed and what to do, or why it does not apply here.
	Message string `json:"message,omitempty"`
	// Refused says why the change of a failed step is refused. The node is as it was without the
	// change.
	Refused Refusal `json:"refused,omitempty"`
	// Isolated says that the failure blocks only the steps that need this one.
	Isolated bool `json:"-"`
	// Fetching says that a waiting step needs an asset that is being fetched.
	Fetching bool `json:"fetching,omitempty"`
	// Because is the key that failed or waits, where this step only follows it.
	Because string `json:"because,omitempty"`
}

// Refusal is why the change of a key is refused.
type Refusal string

// The refusals.
const (
	RefusedByRule Refusal = "rule" // no document may write or switch it
	RefusedByBoot Refusal = "boot" // the first boot with it failed
	RefusedByUnit Refusal = "unit" // a unit did not start with it
)

// Item is one key that changes.
type Item struct {
	Key    string  `json:"key"`
	Op     string  `json:"op"` // + ~ - !
	Fields []Field `json:"fields,omitempty"`
	Diff   string  `json:"diff,omitempty"` // unified; never for a secret
}

// Field is an attribute with its old and new value.
type Field struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}

// Note is something that a person should know, and no change.
type Note struct {
	Level  string `json:"level"` // info, warning, error
	Origin string `json:"origin,omitempty"`
	Text   string `json:"text"`
}

// Warning returns a note that somebody should look at.
func Warning(text string) Note { return Note{Level: "warning", Text: text} }

// Info returns a note that is good to know.
func Info(text string) Note { return Note{Level: "info", Text: text} }

// Warn adds a warning to the plan.
func (p *Plan) Warn(text string) { p.Notes = append(p.Notes, Warning(text)) }

// Summary counts changes by key, and everything else by task.
type Summary struct {
	Tasks int `json:"tasks"`
	Right int `json:"right"` // as wanted: found so, or changed

	Create        int `json:"create"`
	Update        int `json:"update"`
	Remove        int `json:"remove"`
	Run           int `json:"run"`
	Waiting       int `json:"waiting"`
	Failed        int `json:"failed"`
	Skipped       int `json:"skipped"`
	NotApplicable int `json:"notHere"`
	Unknown       int `json:"unknown"`
	// Repairs are the counted keys that were as wanted before, and that another program or person
	// changed. Effects are not counted.
	Repairs   int `json:"repairs"`
	Contested int `json:"contested"`
	Drifted   int `json:"drifted"`
	Ignored   int `json:"ignored"`
}

// Changes returns the number of changed keys and of effects.
func (s Summary) Changes() int { return s.Create + s.Update + s.Remove + s.Run }

// FromChange fills a step's items from the change of a task. For a secret it copies neither values
// nor contents, even if the change has them.
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

// The disruptions as a step names them.
const (
	restartsUnit = "restarts a unit"
	mayCutOff    = "may cut the node off"
)

// Finish completes a plan that has all its steps. A key that several tasks list, such as a
// directory that each of them would make, stays only in the first. Then Finish counts the summary.
// looked is the number of tasks.
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

// Raise raises the plan's class to a higher one, with its reason.
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

// ran reports whether the plan is of a run that changed something, and no dry run.
func ran(p *Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.State == Done })
}

// NotApplied makes it a plan of which nothing was done or nothing is left, with the reason.
func (p *Plan) NotApplied(why error) *Plan {
	p.Warn(why.Error())
	p.Leave(Stopped, "not applied: see the note")
	return p
}

// Leave makes it a plan that is not applied: planned steps get another state and a reason.
func (p *Plan) Leave(state State, why string) {
	for s := range p.In(Planned) {
		s.State, s.Message = state, why
	}
	p.Finish(p.Summary.Tasks)
}

// In returns the steps with one of the states.
func (p *Plan) In(states ...State) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i := range p.Steps {
			if s := &p.Steps[i]; slices.Contains(states, s.State) && !yield(s) {
				return
			}
		}
	}
}
