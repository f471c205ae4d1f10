package ledger

import (
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Mode says whose a key is.
type Mode string

// The modes of an entry.
const (
	Owned    Mode = "owned"    // absent before us: prune removes it
	Found    Mode = "found"    // there before us: repaired, never removed
	Retained Mode = "retained" // ours, and stays when nobody wants it: reset alone removes it
)

// Entry is one key that the agent has taken charge of.
type Entry struct {
	Key  graph.Key `json:"key"`
	Mode Mode      `json:"mode"`
	// Task rebuilds the key's task. Keys of paths need none to be removed, so
	// only the task's first key has it; the others name that one in Of.
	Task    *tasks.Recorded `json:"task,omitempty"`
	Of      graph.Key       `json:"of,omitempty"`
	Needs   []graph.Key     `json:"needs,omitempty"`
	Effects []graph.Key     `json:"asks,omitempty"` // effects that its going asks for
	// Baseline is what was there before the first change; nil when we never changed it, or it was
	// absent.
	Baseline *tasks.Baseline `json:"baseline,omitempty"`
	// Last is what the host had when the agent last left it right.
	Last string `json:"last,omitempty"`
	// Pending says that a change was about to be made, and nothing says how it ended.
	Pending bool `json:"pending,omitempty"`
	// Again says of a change that is pending, or failed, that the key was right before, or made so,
	// for this very task: it is a repair.
	Again bool `json:"again,omitempty"`
	// Untried says of such a change that the key was never found right: what the node is like with
	// it, nothing has shown.
	Untried bool `json:"untried,omitempty"`
	// Boot is the boot in which a key that does not outlive one was last made right; see
	// [Head.Boot].
	Boot string `json:"boot,omitempty"`
	// Drift is set once others have changed the key.
	Drift *Drift `json:"drift,omitempty"`
	// Released says that nobody wants the key any more and that it stays; only reset still looks at
	// it.
	Released bool `json:"released,omitempty"`
	// Parent says that it is a directory made on the way to a path.
	Parent   bool `json:"parent,omitempty"`
	Revision int  `json:"revision,omitempty"` // by which it was last recorded
}

// Head ends each batch: what must be known without reading the entries.
type Head struct {
	// Fingerprint names the desired set that the entries are in step with.
	Fingerprint string `json:"print,omitempty"`
	// Clean says that every entry is wanted by that set, or released: there is nothing to prune.
	Clean   bool `json:"settled,omitempty"`
	Current int  `json:"current,omitempty"` // revision
	// Former is the one that the node was at before Current came by its documents, and that a
	// rollback goes to. It may be the higher of the two: a set that was there before has its number
	// from then.
	Former int `json:"former,omitempty"`
	// Boot is that in which all was right last: what is missing of a later one nobody took away.
	Boot string `json:"boot,omitempty"`
	Pin  *Pin   `json:"held,omitempty"`
	// Network is the one that the node has: that of the last set that was right, or that a switch
	// has come to.
	Network Network `json:"network,omitzero"`
	// Machine is the machine-id of the machine that has it: an image's ledger says nothing of the
	// names of those that boot from it.
	Machine string `json:"machine,omitempty"`
	// Lost says that the ledger was begun anew after what an earlier one knew was gone: what was
	// found then may be ours.
	Lost bool `json:"lost,omitempty"`
	// FollowLinks are those of spec.followLinks, a line each: an undo and a reset go by them, which
	// have no documents.
	FollowLinks string `json:"followLinks,omitempty"`
	// Proof is that of the last change that was under a checkpoint and stayed.
	Proof Proof `json:"proof,omitzero"`
}

// Followed are the links of spec.followLinks as they were last in force.
func (h Head) Followed() []string {
	return strings.FieldsFunc(h.FollowLinks, func(r rune) bool { return r == '\n' })
}

// Proof is by what a change was proved, and by what it was not: kinds of probes, with a comma
// between them.
type Proof struct {
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
	By         string    `json:"by,omitempty"`
	Missing    string    `json:"unproved,omitempty"`
}

// Network is what must be known of a node's network when it is to leave it.
type Network struct {
	Name string `json:"name"`
	// PodCIDRs are where its pods have their addresses, on all nodes, as spec.podCIDR says them:
	// with a comma between families.
	PodCIDRs string `json:"podCIDRs,omitempty"`
	// Multus says that multus stands before it: its conf goes with the network, unless the next one
	// has it too.
	Multus bool `json:"multus,omitempty"`
	// Declared is what only its documents knew of it, as JSON; package desired writes and reads it.
	Declared string `json:"declared,omitempty"`
	// Prepares is what the node is prepared with for it, or for the network that was handed over to
	// `cni: {}`, as JSON; package desired writes and reads it.
	Prepares string `json:"prepares,omitempty"`
	// Modes are those in which the node has had the network since all that an earlier one left was
	// taken away, with commas: "ipip,iptables". "": a ledger of before they were noted, or a
	// network without any.
	Modes string `json:"modes,omitempty"`
}

// Pin holds a node at a revision until somebody resumes.
type Pin struct {
	Revision int       `json:"revision"`
	By       string    `json:"by"`
	Since    time.Time `json:"since"`
	// Disruptive says that whoever pinned it allowed a disruptive switch of networks on the way.
	Disruptive bool `json:"disruptive,omitempty"`
}

// Batch is what one commit changes.
type Batch struct {
	Put   []Entry
	Drop  []graph.Key
	Dirs  map[string]int64 // directories' times of change before us; the first that is noted stays
	Head  Head
	Blobs []blob.Content
	// Later says that the disk has all of it but marks: it may come there with the next batch.
	Later bool
	// Revision, if set, is kept beside the journal, before it.
	Revision *Revision
}

// Rebuild makes an entry's task again, with its contents; nil for keys that need none.
func (e Entry) Rebuild(r Reader) (tasks.Task, error) {
	if e.Task == nil {
		return nil, nil
	}
	return Rebuild(r, *e.Task)
}

// Rebuild makes a task again that a ledger or a revision has, with its contents.
func Rebuild(r Reader, rec tasks.Recorded) (tasks.Task, error) {
	return tasks.Rebuild(rec, func(sum blob.Digest) ([]byte, error) { return Blob(r, sum) })
}
