// Package control carries the requests of commands to a running daemon. It uses a unix socket that
// only root may open. The client sends its request as one line of JSON, and the daemon answers with
// one line for each event.
//
//	daemon  {"event":"hello","protocol":"netwright.dev/control/v1","version":"v1.2.3","pid":7}
//	client  {"protocol":"netwright.dev/control/v1","version":"v1.2.3","command":"rollback","by":"alice","revision":3}
//	daemon  {"event":"queued","text":"…"}     the daemon is at something else; this comes after it
//	daemon  {"event":"begin"}                 from here on it goes to its end, whatever becomes of the client
//	daemon  {"event":"plan","plan":{…}} {"event":"start","key":"…"} …
//	daemon  {"event":"end","plan":{…},"error":{"text":"…"}}
//
// The first line keeps its form in every version, so that each side can name the other's version.
// The daemon does one thing at a time, in its own loop: a request becomes a pass like its own, and
// two passes never run at once.
//
// This package only defines and carries the messages; pkg/daemon does the work.
package control

import (
	"cmp"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// Protocol names the form of the messages. A new kind of event does not change it, because a client
// ignores events that it does not know. A new field of a request needs another Protocol: a daemon
// that ignored the field would do something else than it was asked for.
const Protocol = "netwright.dev/control/v1"

// Paths of the daemon's socket and lock, below the root that it works on. The daemon holds the lock
// as long as it runs: only the process that holds the lock may replace the socket.
const (
	Socket = "/run/netwright/agent.sock"
	Lock   = "/run/netwright/daemon.lock"
)

// Command names what a client asks for.
type Command string

// The commands.
const (
	Once Command = "once" // a pass with the newest documents
	// OnceConfirmed is Once whose change is undone unless somebody confirms it within For. It is a
	// command of its own so that a daemon that does not know it refuses it.
	OnceConfirmed Command = "once-confirmed"
	Confirm       Command = "confirm"  // keep the change that awaits confirmation
	Rollback      Command = "rollback" // apply Revision, and pin the node to it
	Resume        Command = "resume"   // follow the store again, and end a pause
	Pause         Command = "pause"    // change nothing for a time
	Stop          Command = "stop"     // end the daemon, for a reset
)

// Request is a client's request.
type Request struct {
	Protocol string  `json:"protocol"`
	Version  string  `json:"version"` // of the client, for messages
	Command  Command `json:"command"`
	By       string  `json:"by,omitempty"`       // the person who runs the command
	Revision int     `json:"revision,omitempty"` // of a rollback; 0: the one before the current one
	Verify   bool    `json:"verify,omitempty"`   // read and compare every installed byte
	Target   Target  `json:"target,omitzero"`    // of a pass: what the client's flags and its agent's file name
	// AllowDisruptive allows the pass, or the rollback, to switch networks although pods notice.
	AllowDisruptive bool `json:"allowDisruptive,omitempty"`
	// EndPause allows the rollback to end a pause.
	EndPause bool `json:"endPause,omitempty"`
	// For and Reason belong to a pause: how long it is, in nanoseconds in JSON, and why. For is
	// also how long OnceConfirmed waits for the confirmation.
	For    time.Duration `json:"for,omitempty"`
	Reason string        `json:"reason,omitempty"`
	// AcceptOlder allows the pass to take a generation from the store that is older than the last
	// one.
	AcceptOlder bool `json:"acceptOlder,omitempty"`
	// Agreed is the intent of the only plan that the pass may make; "": any.
	Agreed string `json:"agreed,omitempty"`
}

// Target is where the documents come from. An empty field is not specified.
type Target struct {
	Store     string `json:"store,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	NodeGroup string `json:"nodeGroup,omitempty"`
	Node      string `json:"node,omitempty"`
}

// Differs returns the first field in which the other target names another value than this one: its
// name and both values. A field that the other target does not specify is no difference.
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

// Kind is the kind of an event.
type Kind string

// The events.
const (
	Hello  Kind = "hello"  // Protocol, Version, PID
	Queued Kind = "queued" // Text: what the daemon is at
	Begin  Kind = "begin"
	Note   Kind = "note"  // Text, for the user
	Plan   Kind = "plan"  // Plan: what will change
	Start  Kind = "start" // Key: work on it begins
	Done   Kind = "done"  // Key: work on it has ended
	Retry  Kind = "retry" // Key, Text: the reason, Pause
	End    Kind = "end"   // Plan: the result; Text: the answer of a command that has no plan; Error
)

// Event is one line that the daemon sends.
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

// Failure is the error of a request.
type Failure struct {
	Text string `json:"text"`
	// Besides is the part of the error that the plan does not show; "": the plan shows all of it.
	Besides string `json:"besides,omitempty"`
	// Again says that each failed key differed from the plan when the pass came to it: another pass
	// at once may succeed.
	Again bool `json:"again,omitempty"`
	// ID is the identifier of the problem in both texts; "": an earlier daemon did not send it.
	ID problem.ID `json:"id,omitempty"`
}

// Failed converts an error for a client. besides is the part of it that the plan does not show;
// nil: the plan shows all of it.
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
