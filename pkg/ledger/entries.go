package ledger

import (
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Mode says who owns a key.
type Mode string

// The modes of an entry.
const (
	Owned    Mode = "owned"    // absent before the agent made it: prune removes it
	Found    Mode = "found"    // there before the agent: it is repaired and never removed
	Retained Mode = "retained" // made by the agent and no longer wanted, but it stays: only reset removes it
)

// Entry is one key that the agent manages.
type Entry struct {
	Key  graph.Key `json:"key"`
	Mode Mode      `json:"mode"`
	// Task rebuilds the task of the key. Only the task's first key has it; the other keys name
	// that key in Of. A key that is a path needs no task to be removed.
	Task    *tasks.Recorded `json:"task,omitempty"`
	Of      graph.Key       `json:"of,omitempty"`
	Needs   []graph.Key     `json:"needs,omitempty"`
	Effects []graph.Key     `json:"asks,omitempty"` // the effects that its removal asks for
	// Baseline is the state before the agent's first change; nil: the agent never changed the key,
	// or the key was absent.
	Baseline *tasks.Baseline `json:"baseline,omitempty"`
	// Last is the state of the key when the agent last left it right.
	Last string `json:"last,omitempty"`
	// Pending means that a change was about to be made, and its outcome is not recorded.
	Pending bool `json:"pending,omitempty"`
	// Again means that a pending or failed change is a repair: the key was right before for this
	// very task.
	Again bool `json:"again,omitempty"`
	// Untried means that the key of a pending or failed change was never right, so nothing has
	// shown how the node behaves with it.
	Untried bool `json:"untried,omitempty"`
	// Boot is the boot in which a key that does not survive a reboot was last made right; see
	// [Head.Boot].
	Boot string `json:"boot,omitempty"`
	// Drift is set after another program has changed the key.
	Drift *Drift `json:"drift,omitempty"`
	// Released means that the key is no longer wanted and stays. Only reset still looks at it.
	Released bool `json:"released,omitempty"`
	// Parent means that the key is a directory that was made for a path below it.
	Parent   bool `json:"parent,omitempty"`
	Revision int  `json:"revision,omitempty"` // the revision that last recorded the entry
}

// Head ends each batch. It has what callers must know without reading the entries.
type Head struct {
	// Fingerprint identifies the wanted set that the entries match.
	Fingerprint string `json:"print,omitempty"`
	// Clean means that this set wants every entry, or that the entry is released: there is nothing
	// to prune.
	Clean   bool `json:"settled,omitempty"`
	Current int  `json:"current,omitempty"` // the current revision
	// Former is the revision before Current, to which a rollback goes. It may be the higher
	// number: a set that the node had before keeps its old number.
	Former int `json:"former,omitempty"`
	// Boot is the boot in which everything was right last. In a later boot, missing kernel objects
	// were not removed by anybody.
	Boot string `json:"boot,omitempty"`
	Pin  *Pin   `json:"held,omitempty"`
	// Network is the node's network: that of the last set that was right, or the one that a switch
	// has reached.
	Network Network `json:"network,omitzero"`
	// Machine is the machine-id of the machine that has the network. The ledger of an image says
	// nothing about the names of machines that boot from it.
	Machine string `json:"machine,omitempty"`
	// Lost means that this ledger was started after the knowledge of an earlier one was lost: keys
	// that it found may have been made by the agent.
	Lost bool `json:"lost,omitempty"`
	// FollowLinks are the links of spec.followLinks, one on each line. An undo and a reset need
	// them, and have no documents.
	FollowLinks string `json:"followLinks,omitempty"`
	// Proof is the proof of the last change that was made under a checkpoint and kept.
	Proof Proof `json:"proof,omitzero"`
}

// Followed returns the links of spec.followLinks that were last in force.
func (h Head) Followed() []string {
	return strings.FieldsFunc(h.FollowLinks, func(r rune) bool { return r == '\n' })
}

// Proof names the kinds of probes that proved a change, and those that were missing, separated by
// commas.
type Proof struct {
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
	By         string    `json:"by,omitempty"`
	Missing    string    `json:"unproved,omitempty"`
}

// Network is what a switch must know about a node's present network.
type Network struct {
	Name string `json:"name"`
	// PodCIDRs are the pod ranges on all nodes, as in spec.podCIDR: the families are separated by
	// a comma.
	PodCIDRs string `json:"podCIDRs,omitempty"`
	// Multus means that Multus is in front of the network. Its conf is removed with the network,
	// unless the next network has Multus too.
	Multus bool `json:"multus,omitempty"`
	// Declared is what only the documents knew about the network, as JSON. Package desired writes
	// and reads it.
	Declared string `json:"declared,omitempty"`
	// Prepares is the preparation of the node for the network, or for the network that was handed
	// over to `cni: {}`, as JSON. Package desired writes and reads it.
	Prepares string `json:"prepares,omitempty"`
	// Modes are the modes of the network whose residue may be on the node, separated by commas:
	// "ipip,iptables". "": the ledger is older than this field, or the network has no modes.
	Modes string `json:"modes,omitempty"`
}

// Pin holds a node at a revision until a person resumes.
type Pin struct {
	Revision int       `json:"revision"`
	By       string    `json:"by"`
	Since    time.Time `json:"since"`
	// Disruptive means that the person who pinned the node allowed a disruptive switch of networks
	// on the way.
	Disruptive bool `json:"disruptive,omitempty"`
}

// Batch is what one commit changes.
type Batch struct {
	Put   []Entry
	Drop  []graph.Key
	Dirs  map[string]int64 // modification times that directories had before the agent; the first recorded time stays
	Head  Head
	Blobs []blob.Content
	// Later means that the disk already has everything of the batch except marks. The batch may be
	// written together with the next one.
	Later bool
	// Revision, if set, is saved before the journal, in a file of its own.
	Revision *Revision
}

// Rebuild makes an entry's task again, with its contents. It returns nil for a key that needs no
// task.
func (e Entry) Rebuild(r Reader) (tasks.Task, error) {
	if e.Task == nil {
		return nil, nil
	}
	return Rebuild(r, *e.Task)
}

// Rebuild makes a task of a ledger or of a revision again, with its contents.
func Rebuild(r Reader, rec tasks.Recorded) (tasks.Task, error) {
	return tasks.Rebuild(rec, func(sum blob.Digest) ([]byte, error) { return Blob(r, sum) })
}
