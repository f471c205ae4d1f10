// Package control is how commands reach a running daemon: a unix socket that root alone may use, on
// which a client says in one line of JSON what it wants, and the daemon answers with a line for
// each thing that happens.
//
//	daemon  {"event":"hello","protocol":"netwright.dev/control/v1","version":"v1.2.3","pid":7}
//	client  {"protocol":"netwright.dev/control/v1","version":"v1.2.3","command":"rollback","by":"alice","revision":3}
//	daemon  {"event":"queued","text":"…"}     the daemon is at something else; this comes after it
//	daemon  {"event":"begin"}                 from here on it goes to its end, whatever becomes of the client
//	daemon  {"event":"plan","plan":{…}} {"event":"start","key":"…"} …
//	daemon  {"event":"end","plan":{…},"error":{"text":"…"}}
//
// The first line keeps its form in every version, so that each side can say who the other is. The
// daemon does one thing at a time, in its own loop: what is asked for is a pass like its own, and
// two at once cannot be.
//
// The package knows the words and carries them; what they mean is pkg/daemon's.
package control

import (
	"cmp"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// Protocol names the form of what is said. Events may be added to it, for a client leaves out what
// it does not know; a field of a request makes another protocol, for a daemon that left it out
// would do something else than it was asked for.
const Protocol = "netwright.dev/control/v1"

// Where the daemon is found, below the root that it works on. The lock is held for its life: who
// has it may replace the socket.
const (
	Socket = "/run/netwright/agent.sock"
	Lock   = "/run/netwright/daemon.lock"
)

// Command is what can be asked for.
type Command string

// The commands.
const (
	Once Command = "once" // a pass with the newest documents
	// OnceConfirmed is Once whose change is undone unless somebody confirms it within For. It is a
	// command of its own: a daemon that does not know it refuses.
	OnceConfirmed Command = "once-confirmed"
	Confirm       Command = "confirm"  // keep the change that awaits it
	Rollback      Command = "rollback" // to Revision, and hold
	Resume        Command = "resume"   // follow the store again, and end a pause
	Pause         Command = "pause"    // change nothing for a while
	Stop          Command = "stop"     // end, for a reset
)

// Request is what a client wants.
type Request struct {
	Protocol string  `json:"protocol"`
	Version  string  `json:"version"` // of the client, for people
	Command  Command `json:"command"`
	By       string  `json:"by,omitempty"`       // the person who asks
	Revision int     `json:"revision,omitempty"` // of a rollback; 0: the one before the current
	Verify   bool    `json:"verify,omitempty"`   // read every installed byte
	Target   Target  `json:"target,omitzero"`    // of a pass: what the client's flags and file name
	// AllowDisruptive lets the pass, or the rollback, switch networks although pods notice.
	AllowDisruptive bool `json:"allowDisruptive,omitempty"`
	// EndPause lets the rollback end a pause.
	EndPause bool `json:"endPause,omitempty"`
	// For and Reason are of a pause: how long, in nanoseconds, and why. For is of a pass whose
	// change is to be confirmed, too.
	For    time.Duration `json:"for,omitempty"`
	Reason string        `json:"reason,omitempty"`
	// AcceptOlder lets the pass take a generation of the store's that is older than the last.
	AcceptOlder bool `json:"acceptOlder,omitempty"`
	// Agreed is the intent of the plan that the pass may make, and no other.
	Agreed string `json:"agreed,omitempty"`
}

// Target is where documents come from. What is empty is not said.
type Target struct {
	Store     string `json:"store,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	NodeGroup string `json:"nodeGroup,omitempty"`
	Node      string `json:"node,omitempty"`
}

// Differs says in what another target is not this one: its name and both values. What either of
// them does not say is no difference.
func (t Target) Differs(other Target) (what, own, others string) {
	for _, f := range [][3]string{
		{"store", t.Store, other.Store}, {"cluster", t.Cluster, other.Cluster},
		{"node group", t.NodeGroup, other.NodeGroup}, {"node", t.Node, other.Node},
	} {
		if f[2] != "" && f[1] != f[2] {
			return f[0], f[1], f[2]
		}
	}
	return "", "", ""
}

// Kind is what an event tells.
type Kind string

// The events.
const (
	Hello  Kind = "hello"  // Protocol, Version, PID
	Queued Kind = "queued" // Text: what the daemon is at
	Begin  Kind = "begin"
	Note   Kind = "note"  // Text, for the person
	Plan   Kind = "plan"  // Plan: what will change
	Start  Kind = "start" // Key: it is worked on
	Done   Kind = "done"  // Key: it is no longer
	Retry  Kind = "retry" // Key, Text: why, Pause
	End    Kind = "end"   // Plan: what became of it; Text: what a command without a plan says; Error
)

// Event is a line of the daemon's.
type Event struct {
	Event    Kind          `json:"event"`
	Protocol string        `json:"protocol,omitempty"`
	Version  string        `json:"version,omitempty"`
	PID      int           `json:"pid,omitempty"`
	Key      string        `json:"key,omitempty"`
	Text     string        `json:"text,omitempty"`
	Pause    time.Duration `json:"pause,omitempty"` // nanoseconds
	Plan     *report.Plan  `json:"plan,omitempty"`
	Error    *Failure      `json:"error,omitempty"`
}

// Failure is how something ended that did not end well.
type Failure struct {
	Text string `json:"text"`
	// Besides is what the plan does not tell, "" if it tells all.
	Besides string `json:"besides,omitempty"`
	// Again says that all that failed was found otherwise than planned: another pass may help at
	// once.
	Again bool `json:"again,omitempty"`
	// ID is what both texts bear; "": an earlier daemon did not say.
	ID problem.ID `json:"id,omitempty"`
}

// Failed is an error as a client needs it, with what the plan does not tell of it; nil: it tells
// all.
func Failed(err, besides error) *Failure {
	id := problem.KindOf(cmp.Or(besides, err))
	f := &Failure{Text: id.Wrap(err).Error(), ID: id}
	if besides != nil {
		f.Besides = id.Wrap(besides).Error()
	}
	return f
}

func (f *Failure) Error() string { return f.Text }

// Problem implements [problem.Find].
func (f *Failure) Problem() problem.ID { return f.ID }
