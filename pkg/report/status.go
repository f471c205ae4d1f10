package report

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/generation"
)

// StatusVersion names the JSON form of a [Status]. Fields are added to it; none changes its meaning
// or goes.
const StatusVersion = "netwright.dev/status/v1"

// Status is what a daemon knows of its node at one moment. It is a value: who is given one may keep
// it, and changes nothing in it. `agent status`, the status file, metrics and the Node's condition
// are views of it.
type Status struct {
	Version string    `json:"version"` // StatusVersion
	At      time.Time `json:"at"`
	Agent   Agent     `json:"agent"`
	State   NodeState `json:"state"`
	// of the state, in one line, with what to do where somebody must do something
	Reason string `json:"reason,omitempty"`

	Node      string `json:"node"`
	Cluster   string `json:"cluster,omitempty"`
	NodeGroup string `json:"nodeGroup,omitempty"`
	Network   string `json:"network,omitempty"`

	Prepared      bool          `json:"prepared"` // all that kubelet needs was right once since the agent began
	Configuration Configuration `json:"configuration"`
	Waiting       *Waiting      `json:"waiting,omitempty"` // a newer configuration that is not applied yet
	// "held at revision 3 by root": the node does not follow the store
	Pinned string  `json:"held,omitempty"`
	Paused *Paused `json:"paused,omitempty"`
	Awaits *Awaits `json:"awaits,omitempty"`
	// files and units that act at the next boot, and that none has proved
	AwaitingBoot []string `json:"awaitingBoot,omitempty"`
	// AwaitingBootSince is when the first of them was changed.
	AwaitingBootSince time.Time `json:"awaitingBootSince,omitzero"`
	Proof             *Proof    `json:"proof,omitempty"`   // of the last change that was under a checkpoint and stayed
	Watched           *Watched  `json:"watched,omitempty"` // a change that is undone for what its hook does later
	Undone            []Undone  `json:"undone,omitempty"`  // the last of each cause, newest first
	Working           *Working  `json:"working,omitempty"` // nil: the daemon waits
	Hangs             *Hanging  `json:"hangs,omitempty"`   // what has not ended in time

	Kinds          []KindStatus  `json:"kinds"`              // by name
	Keys           []KeyStatus   `json:"keys"`               // those with something to say, by name
	Services       []Service     `json:"services,omitempty"` // that run the node's pods, where there are such
	PendingEffects []string      `json:"owed,omitempty"`
	Notes          []Note        `json:"notes,omitempty"`
	Certificates   []Certificate `json:"certificates,omitempty"`
	Totals         Totals        `json:"totals"`
	// Wakes are what woke the daemon between its passes since it began, by source: "files",
	// "netlink", "store" …
	Wakes map[string]int64 `json:"wakes,omitempty"`

	Last *LastPass `json:"last,omitempty"`
	Next time.Time `json:"next,omitzero"` // when the daemon looks again by itself
}

// NodeState is a node's network in one word.
type NodeState string

// The states of a node, that which matters most first: a node that is paused and fails is said to
// fail.
const (
	// pods are cut off, or cannot be run: what they stand on is lost or fought over, runtime or
	// kubelet does not work
	NodeCritical  NodeState = "critical"
	NodeFailing   NodeState = "failing"   // something that is wanted cannot be had, or a pass does not end
	NodeContested NodeState = "contested" // somebody else writes a key again and again; the rest is right
	NodeDrifted   NodeState = "drifted"   // a key is not as wanted, and is only reported
	NodePaused    NodeState = "paused"
	NodeWaiting   NodeState = "waiting" // for what only time or a person brings
	NodeSilent    NodeState = "silent"  // its store was not read for several intervals; all that is known is so
	NodeConverged NodeState = "converged"
	NodeStarting  NodeState = "starting" // no pass was made yet
)

// Agent is the process that publishes.
type Agent struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Generation is one configuration, as a store has published it.
type Generation struct {
	Number int64     `json:"generation"` // 0 of a directory of plain documents
	Digest string    `json:"digest,omitempty"`
	At     time.Time `json:"at,omitzero"`
	By     string    `json:"by,omitempty"` // of the published one: who published it, from which commit, why
}

// name is "none" where there is none.
func (g *Generation) name() string {
	if g == nil {
		return "none"
	}
	return generation.Name(g.Number, g.Digest)
}

// Is says that it is the same configuration as another. Each may be nil.
func (g *Generation) Is(o *Generation) bool {
	if g == nil || o == nil {
		return g == o
	}
	return g.Number == o.Number && g.Digest == o.Digest
}

// Configuration is what the node is made by. It has three generations: the newest in the store, the
// one that the node is to have now, and the one that it has.
type Configuration struct {
	Store string `json:"store"` // never with credentials
	// Generation and Digest are those of Applied, for who knows only one.
	Generation int64  `json:"generation"`
	Digest     string `json:"digest,omitempty"`
	// Published is the newest that the store has, as far as it was believed; At is when it was
	// published.
	Published *Generation `json:"published,omitempty"`
	// Wanted is what the daemon works towards: another one than Published while that waits, or the
	// node is held at a revision.
	Wanted *Generation `json:"wanted,omitempty"`
	// Applied is the last one with which a pass ended right; At is when the first did. What a
	// generation changes of this node is made then, or awaits what others bring.
	Applied *Generation `json:"applied,omitempty"`
	Checked time.Time   `json:"checked,omitzero"` // when the store last said that there is nothing newer
	Since   time.Time   `json:"since,omitzero"`   // when this daemon began to work towards what is applied
	// LastGood is when they were taken from a store that could not be used since the daemon began.
	LastGood time.Time `json:"lastGood,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Error    string    `json:"error,omitempty"` // why there are no newer ones
	// Silent is since when the store was not read, once that is several intervals.
	Silent time.Time `json:"silent,omitzero"`
	// Untrusted says that the error is of who may have changed the store: a signature that is
	// wrong, a generation that goes back.
	Untrusted bool `json:"untrusted,omitempty"`
	// Pinned says that the store has another one than the pin of the agent's file names, which the
	// node has.
	Pinned bool `json:"pinned,omitempty"`
}

// Text names the generation that is applied, and the one that is wanted where that is another.
func (c Configuration) Text() string {
	switch {
	case c.Wanted == nil || c.Wanted.Is(c.Applied):
		return generation.Name(c.Generation, c.Digest)
	case c.Applied == nil:
		return fmt.Sprintf("no generation is applied, %s is wanted", c.Wanted.name())
	}
	return fmt.Sprintf("%s, %s is wanted", c.Applied.name(), c.Wanted.name())
}

// NewestAt is when it was last known that they are the newest; zero if that was never.
func (c Configuration) NewestAt() time.Time {
	if c.Checked.IsZero() {
		return c.LastGood
	}
	return c.Checked
}

// Waiting is a newer configuration that waits for its time, or for a person.
type Waiting struct {
	Generation int64  `json:"generation"`
	Digest     string `json:"digest"`
	// of the change: live, reload, restart, drain, replace; "": it was undone, or not planned
	Class  string    `json:"class"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: until somebody says so
}

// class is the class for a text, where there is one.
func (w *Waiting) class() string {
	if w.Class == "" {
		return ""
	}
	return " (" + w.Class + ")"
}

// Paused is a node on which nothing is changed for a while.
type Paused struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
}

// String is "paused until 2026-11-22T06:00:00Z by alice: why".
func (p *Paused) String() string {
	return fmt.Sprintf("paused until %s by %s: %s", Stamp(p.Until), p.By, p.Reason)
}

// Awaits is a change that is made, and is undone unless somebody confirms it.
type Awaits struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest,omitempty"`
	Until      time.Time `json:"until"`
	By         string    `json:"by,omitempty"`       // who made it
	Revision   int       `json:"revision,omitempty"` // that the node is at once it is confirmed
}

// String is "generation 5, made by alice, awaits its confirmation until 2026-11-22T06:00:00Z".
func (a *Awaits) String() string {
	return fmt.Sprintf("%s, made by %s, awaits its confirmation until %s", generation.Name(a.Generation, a.Digest), a.By,
		Stamp(a.Until))
}

// Working is what a daemon is at.
type Working struct {
	Activity string    `json:"what"`
	Since    time.Time `json:"since"`
	Changes  int       `json:"changes,omitempty"` // planned
}

// Hanging is work of the daemon that takes so long that it may never end.
type Hanging struct {
	At    string    `json:"at"` // the work, and the part of a pass: "a pass of its own: plan"
	Since time.Time `json:"since"`
}

// String is "a pass of its own: plan, since 2026-11-22T06:00:00Z: it has not ended: see whether …".
func (h *Hanging) String() string {
	return fmt.Sprintf("%s, since %s: %s", h.At, Stamp(h.Since), NotEnded)
}

// NotEnded is what to do about work that hangs.
const NotEnded = "it has not ended: see whether a file system or a service of this host hangs"

// KindStatus counts the tasks of one kind: file, sysctl, link …
type KindStatus struct {
	Kind          string `json:"kind"`
	Tasks         int    `json:"tasks"`
	Right         int    `json:"right"`
	Waiting       int    `json:"waiting,omitempty"`
	Failing       int    `json:"failing,omitempty"`
	Skipped       int    `json:"skipped,omitempty"`
	NotApplicable int    `json:"notHere,omitempty"`
	Contested     int    `json:"contested,omitempty"`
	Drifted       int    `json:"drifted,omitempty"` // only reported
	// Repaired and Changed are how often keys of the kind were brought back, and changed on
	// purpose, since the daemon began.
	Repaired int64 `json:"repaired,omitempty"`
	Changed  int64 `json:"changed,omitempty"`
}

// KeyStatus is a key that is not plainly right.
type KeyStatus struct {
	Key   string    `json:"key"`
	State KeyState  `json:"state"`
	Since time.Time `json:"since"`
	Text  string    `json:"text,omitempty"` // the error, what is waited for, what differs
	// Origin is who asked for it: "cluster.yaml:12:3".
	Origin string `json:"origin,omitempty"`
	Count  int    `json:"count,omitempty"`  // repairs of a contested key
	Writer string `json:"writer,omitempty"` // who else writes it, where that can be known
	// pods stand on it, and it is lost or fought over: one that is contested is repaired for ever
	Pods  bool   `json:"pods,omitempty"`
	Means string `json:"means,omitempty"` // what that means for pods: "forwarding is off: pods are cut off …"
	// Because is the key that fails or waits, where this one only shares its fate.
	Because string `json:"because,omitempty"`
	// Refused is by what the change of a failing key is refused.
	Refused Refusal `json:"refused,omitempty"`
}

// KeyState is how a key stands.
type KeyState string

// The states of a key. Repaired is shown for a while after it was.
const (
	KeyFailing       KeyState = "failing"
	KeyContested     KeyState = "contested"
	KeyDrifted       KeyState = "drifted"
	KeyWaiting       KeyState = "waiting"
	KeySkipped       KeyState = "skipped"
	KeyNotApplicable KeyState = "not here"
	KeyRepaired      KeyState = "repaired"
)

// Certificate is one that the agent has on the node.
type Certificate struct {
	Name     string    `json:"name"`
	CA       bool      `json:"ca,omitempty"`
	State    string    `json:"state"`
	NotAfter time.Time `json:"notAfter,omitzero"`
	RenewAt  time.Time `json:"renewAt,omitzero"`
	Problem  string    `json:"problem,omitempty"`
}

// Totals count since the daemon began.
type Totals struct {
	Passes    int64 `json:"passes"`
	Failed    int64 `json:"failed"` // passes
	Repairs   int64 `json:"repairs"`
	Changes   int64 `json:"changes"` // intended
	Rollbacks int64 `json:"rollbacks"`
}

// LastPass is the pass that ended last.
type LastPass struct {
	Cause   string    `json:"cause"` // why it was made: "interval", "drift: sysctl", "asked: once by alice"
	Began   time.Time `json:"began"`
	Took    Seconds   `json:"took"`
	Phases  []Phase   `json:"phases"`
	Changed int       `json:"changed"` // keys, on purpose
	Repairs int       `json:"repairs"`
	Error   string    `json:"error,omitempty"`
}

// Phase is a part of a pass and how long it took.
type Phase struct {
	Name string  `json:"name"`
	Took Seconds `json:"took"`
}

// Seconds is a length of time, as JSON in seconds.
type Seconds float64

// Duration is for Go.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// SecondsOf is for JSON.
func SecondsOf(d time.Duration) Seconds { return Seconds(d.Seconds()) }
