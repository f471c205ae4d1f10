package report

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/generation"
)

// StatusVersion names the JSON form of a [Status]. New fields may be added; existing ones stay with
// their meaning.
const StatusVersion = "netwright.dev/status/v1"

// Status is what a daemon knows of its node at one moment. A receiver may keep it, and must not
// change it. `agent status`, the status file, metrics and the Node's condition show it.
type Status struct {
	Version string    `json:"version"` // StatusVersion
	At      time.Time `json:"at"`
	// Up is the time from the boot to At, by a clock that nobody sets; 0: not known.
	Up    Seconds   `json:"up,omitempty"`
	Agent Agent     `json:"agent"`
	State NodeState `json:"state"`
	// Reason is the reason of the state in one line, with what to do where somebody must act.
	Reason string `json:"reason,omitempty"`

	Node      string `json:"node"`
	Cluster   string `json:"cluster,omitempty"`
	NodeGroup string `json:"nodeGroup,omitempty"`
	Network   string `json:"network,omitempty"`

	Prepared      bool          `json:"prepared"` // everything that kubelet needs was right once since the agent began
	Configuration Configuration `json:"configuration"`
	Waiting       *Waiting      `json:"waiting,omitempty"` // a newer configuration that is not applied yet
	// Pinned says that the node does not follow the store: "held at revision 3 by root".
	Pinned string  `json:"held,omitempty"`
	Paused *Paused `json:"paused,omitempty"`
	Awaits *Awaits `json:"awaits,omitempty"`
	// AwaitingBoot are files and units that take effect at the next boot, and that no boot has
	// proved yet.
	AwaitingBoot []string `json:"awaitingBoot,omitempty"`
	// AwaitingBootSince is when the first of them was changed.
	AwaitingBootSince time.Time `json:"awaitingBootSince,omitzero"`
	Proof             *Proof    `json:"proof,omitempty"`   // of the last change under a checkpoint that was kept
	Watched           *Watched  `json:"watched,omitempty"` // a change that is undone if its hook harms the node later
	Undone            []Undone  `json:"undone,omitempty"`  // the last undo of each cause, newest first
	Working           *Working  `json:"working,omitempty"` // nil: the daemon waits
	Hangs             *Hanging  `json:"hangs,omitempty"`   // work that has not ended in time

	Kinds          []KindStatus  `json:"kinds"`              // by name
	Keys           []KeyStatus   `json:"keys"`               // keys that are not simply right, by name
	Services       []Service     `json:"services,omitempty"` // that run the node's pods
	PendingEffects []string      `json:"owed,omitempty"`
	Notes          []Note        `json:"notes,omitempty"`
	Certificates   []Certificate `json:"certificates,omitempty"`
	Totals         Totals        `json:"totals"`
	// Wakes counts the events that woke the daemon between its passes since it began, by source:
	// "files", "netlink", "store" …
	Wakes map[string]int64 `json:"wakes,omitempty"`

	Last *LastPass `json:"last,omitempty"`
	Next time.Time `json:"next,omitzero"` // when the daemon looks again without an event
}

// NodeState is the state of a node's network in one word.
type NodeState string

// The states of a node, the most important first: a node that is paused and fails is failing.
const (
	// NodeCritical: pods have no network, or cannot run, because a key that they depend on is lost
	// or contested, or the container runtime or kubelet does not work.
	NodeCritical  NodeState = "critical"
	NodeFailing   NodeState = "failing"   // a wanted key fails, or a pass does not end
	NodeContested NodeState = "contested" // another program keeps changing a key; the others are right
	NodeDrifted   NodeState = "drifted"   // a key is not as wanted, and is only reported
	NodePaused    NodeState = "paused"
	NodeWaiting   NodeState = "waiting" // only time or a person can bring what is missing
	NodeSilent    NodeState = "silent"  // the store was not read for several intervals; all that is known is applied
	NodeConverged NodeState = "converged"
	NodeStarting  NodeState = "starting" // no pass has ended yet
)

// Agent is the process that publishes the status.
type Agent struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Generation is one configuration as a store published it.
type Generation struct {
	Number int64     `json:"generation"` // 0 for a directory with plain documents
	Digest string    `json:"digest,omitempty"`
	At     time.Time `json:"at,omitzero"`
	By     string    `json:"by,omitempty"` // for the published one: who published it, from which commit, why
	// Store is, for the applied one, the store that it was read from, which may be another one than
	// the daemon asks now; "": not known.
	Store string `json:"store,omitempty"`
}

// name returns the generation's name, or "none".
func (g *Generation) name() string {
	if g == nil {
		return "none"
	}
	return generation.Name(g.Number, g.Digest)
}

// Is reports whether both are the same configuration. Each may be nil.
func (g *Generation) Is(o *Generation) bool {
	if g == nil || o == nil {
		return g == o
	}
	return g.Number == o.Number && g.Digest == o.Digest
}

// Configuration has three generations: the newest in the store, the one that the node should have
// now, and the one that it has.
type Configuration struct {
	Store string `json:"store"` // the one that the daemon asks; never with credentials
	// Generation and Digest are those of Applied, for readers of one generation only.
	Generation int64  `json:"generation"`
	Digest     string `json:"digest,omitempty"`
	// Published is the newest generation in the store that was trusted; At is when it was
	// published.
	Published *Generation `json:"published,omitempty"`
	// Wanted is the generation that the daemon applies. It is not Published while that one waits,
	// or while the node is held at a revision.
	Wanted *Generation `json:"wanted,omitempty"`
	// Applied is the last generation with which a pass ended right; At is when the first such pass
	// ended. Then all its changes of this node are made, or wait for something that others bring.
	Applied *Generation `json:"applied,omitempty"`
	Checked time.Time   `json:"checked,omitzero"` // when the store last had nothing newer
	Since   time.Time   `json:"since,omitzero"`   // when this daemon began to apply Applied
	// LastGood is when the documents were fetched, where the store could not be used since the
	// daemon began.
	LastGood time.Time `json:"lastGood,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Error    string    `json:"error,omitempty"` // why there are no newer documents
	// Silent is since when the store was not read, once that is several intervals.
	Silent time.Time `json:"silent,omitzero"`
	// Untrusted says that the error may come from an attacker who changed the store: a wrong
	// signature, or an older generation.
	Untrusted bool `json:"untrusted,omitempty"`
	// Pinned says that the node has the configuration of the pin in the agent's file, and the store
	// has another one.
	Pinned bool `json:"pinned,omitempty"`
}

// from returns the store that the applied generation was read from, and then the one that the
// daemon asks where that is another.
func (c Configuration) from() string {
	if a := c.Applied; a != nil && a.Store != "" && a.Store != c.Store {
		return a.Store + "; the store is now " + c.Store
	}
	return c.Store
}

// Text names the applied generation, and the wanted one where that is another.
func (c Configuration) Text() string {
	switch {
	case c.Wanted == nil || c.Wanted.Is(c.Applied):
		return generation.Name(c.Generation, c.Digest)
	case c.Applied == nil:
		return fmt.Sprintf("no generation is applied, %s is wanted", c.Wanted.name())
	}
	return fmt.Sprintf("%s, %s is wanted", c.Applied.name(), c.Wanted.name())
}

// NewestAt returns when the documents were last known to be the newest; zero: never.
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
	// Class is the class of the change: live, reload, restart, drain, replace; "": it was undone,
	// or not planned.
	Class  string    `json:"class"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: until a person decides
}

// class returns the class for a text, or "".
func (w *Waiting) class() string {
	if w.Class == "" {
		return ""
	}
	return " (" + w.Class + ")"
}

// Paused is a pause, in which nothing is changed on the node.
type Paused struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
}

// String returns "paused until 2026-11-22T06:00:00Z by alice: why".
func (p *Paused) String() string {
	return fmt.Sprintf("paused until %s by %s: %s", Stamp(p.Until), p.By, p.Reason)
}

// Awaits is a change that is undone unless somebody confirms it.
type Awaits struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest,omitempty"`
	Until      time.Time `json:"until"`
	By         string    `json:"by,omitempty"`       // who made it
	Revision   int       `json:"revision,omitempty"` // of the node, after the confirmation
}

// String returns "generation 5, made by alice, awaits its confirmation until 2026-11-22T06:00:00Z".
func (a *Awaits) String() string {
	return fmt.Sprintf("%s, made by %s, awaits its confirmation until %s", generation.Name(a.Generation, a.Digest), a.By,
		Stamp(a.Until))
}

// Working is the work that a daemon does.
type Working struct {
	Activity string    `json:"what"`
	Since    time.Time `json:"since"`
	Changes  int       `json:"changes,omitempty"` // planned
	// Proving says that the changes are made, and that a checkpoint probes them.
	Proving bool `json:"proving,omitempty"`
}

// Hanging is work of the daemon that takes so long that it may never end.
type Hanging struct {
	At    string    `json:"at"` // the work, and the phase of a pass: "a pass of its own: plan"
	Since time.Time `json:"since"`
}

// String returns "a pass of its own: plan, since 2026-11-22T06:00:00Z: it has not ended: see
// whether …".
func (h *Hanging) String() string {
	return fmt.Sprintf("%s, since %s: %s", h.At, Stamp(h.Since), NotEnded)
}

// NotEnded says what to do about work that hangs.
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
	// Repaired and Changed count the repairs and the intended changes of keys of the kind since the
	// daemon began.
	Repaired int64 `json:"repaired,omitempty"`
	Changed  int64 `json:"changed,omitempty"`
}

// Count is the number of the kind's keys in a state; nil of a state that is not counted.
func (k *KindStatus) Count(state KeyState) *int {
	switch state {
	case KeyFailing:
		return &k.Failing
	case KeyContested:
		return &k.Contested
	case KeyDrifted:
		return &k.Drifted
	case KeyWaiting:
		return &k.Waiting
	case KeySkipped:
		return &k.Skipped
	case KeyNotApplicable:
		return &k.NotApplicable
	case KeyRepaired: // since the daemon began
	}
	return nil
}

// KeyStatus is a key that is not plainly right.
type KeyStatus struct {
	Key   string    `json:"key"`
	State KeyState  `json:"state"`
	Since time.Time `json:"since"`
	Text  string    `json:"text,omitempty"` // the error, what is awaited, or what differs
	// Origin is where it was asked for: "cluster.yaml:12:3".
	Origin string `json:"origin,omitempty"`
	Count  int    `json:"count,omitempty"`  // repairs of a contested key
	Writer string `json:"writer,omitempty"` // the other program that writes it, if known
	// Pods says that pods depend on the key, and it is lost or contested. Such a contested key is
	// always repaired again.
	Pods  bool   `json:"pods,omitempty"`
	Means string `json:"means,omitempty"` // what that means for pods: "forwarding is off: pods reach nothing …"
	// Because is the key that fails or waits, where this one only follows it.
	Because string `json:"because,omitempty"`
	// Refused says why the change of a failing key is refused.
	Refused Refusal `json:"refused,omitempty"`
}

// KeyState is the state of a key.
type KeyState string

// The states of a key. A repaired key has its state for a while.
const (
	KeyFailing       KeyState = "failing"
	KeyContested     KeyState = "contested"
	KeyDrifted       KeyState = "drifted"
	KeyWaiting       KeyState = "waiting"
	KeySkipped       KeyState = "skipped"
	KeyNotApplicable KeyState = "not here"
	KeyRepaired      KeyState = "repaired"
)

// Certificate is a certificate that the agent installed on the node.
type Certificate struct {
	Name     string    `json:"name"`
	CA       bool      `json:"ca,omitempty"`
	State    string    `json:"state"`
	NotAfter time.Time `json:"notAfter,omitzero"`
	RenewAt  time.Time `json:"renewAt,omitzero"`
	Problem  string    `json:"problem,omitempty"`
}

// expired reports whether a certificate that somebody wants has expired.
func (c Certificate) expired() bool { return c.State == string(certs.Expired) && c.Problem != "" }

// Totals are counts since the daemon began.
type Totals struct {
	Passes    int64 `json:"passes"`
	Failed    int64 `json:"failed"` // passes
	Repairs   int64 `json:"repairs"`
	Changes   int64 `json:"changes"` // intended
	Rollbacks int64 `json:"rollbacks"`
}

// LastPass is the last pass that ended.
type LastPass struct {
	Cause   string    `json:"cause"` // why it was made: "interval", "the host changed: sysctls", "asked: once by alice"
	Began   time.Time `json:"began"`
	Took    Seconds   `json:"took"`
	Phases  []Phase   `json:"phases"`
	Changed int       `json:"changed"` // keys, by intention
	Repairs int       `json:"repairs"`
	Error   string    `json:"error,omitempty"`
}

// Phase is a part of a pass and its time.
type Phase struct {
	Name string  `json:"name"`
	Took Seconds `json:"took"`
}

// Seconds is a duration; in JSON a number of seconds.
type Seconds float64

// Duration converts to Go's type.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// SecondsOf converts from Go's type.
func SecondsOf(d time.Duration) Seconds { return Seconds(d.Seconds()) }
