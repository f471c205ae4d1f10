package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// Records are the tasks that are wanted, as they will stand in the ledger. They do not change. What
// the ledger keeps of a task is made when somebody asks: when nothing is to be done, nobody does.
type Records struct {
	Order       []tasks.Task
	graph       tasks.Graph
	Fingerprint string // of all of them
}

// recorded is a task as it will stand in the ledger.
type recorded struct {
	tasks.Recorded
	Contents []blob.Content
}

// Record records the tasks of a graph. It reads nothing of the host.
func Record(g *tasks.Graph) (*Records, error) {
	r := &Records{Order: g.Order(), graph: *g}
	var err error
	r.Fingerprint, err = fingerprint(r.Order)
	return r, err
}

// fingerprint is made on all processors: a pass that finds nothing to do spends more on this than
// on its graph.
func fingerprint(list []tasks.Task) (string, error) {
	const each = 128 // bytes of a file's line, with a path of ordinary length
	shares := runtime.GOMAXPROCS(0)
	lines, errs := make([][]byte, shares), make([]error, shares)
	var all sync.WaitGroup
	for s := range shares {
		share := list[s*len(list)/shares : (s+1)*len(list)/shares]
		all.Go(func() {
			text := make([]byte, 0, each*len(share))
			for i := 0; i < len(share) && errs[s] == nil; i++ {
				var rec tasks.Recorded
				if rec, _, errs[s] = tasks.Record(share[i]); rec.Kind != "" {
					text = appendLine(text, rec)
				}
			}
			lines[s] = text
		})
	}
	all.Wait()
	sum := sha256.New()
	for _, text := range lines {
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(errs...)
}

// appendLine adds what a record wants. Not where it comes from: a line that moved in its document
// is no other set.
func appendLine(text []byte, rec tasks.Recorded) []byte {
	text = append(text, rec.Kind...)
	for _, n := range [...]int{rec.Version, len(rec.Params), len(rec.Blobs)} {
		text = strconv.AppendInt(append(text, ' '), int64(n), 10)
	}
	text = append(append(text, '\n'), rec.Params...)
	for _, digest := range rec.Blobs {
		text = append(text, digest[:]...)
	}
	return text
}

// Find is the task that owns a key, and false where none is wanted that does.
func (r *Records) Find(key graph.Key) (tasks.Task, bool) { return r.graph.Find(key) }

// Keys are all that are wanted. They are not to be changed.
func (r *Records) Keys() []graph.Key { return r.graph.Keys() }

// Wants says that a task owns the key.
func (r *Records) Wants(key graph.Key) bool {
	_, ok := r.Find(key)
	return ok
}

// Of is what the ledger keeps of the task that owns a key; false where it keeps nothing, since the
// task only waits, and leaves nothing behind.
func (r *Records) Of(key graph.Key) (recorded, bool) {
	t, ok := r.Find(key)
	if !ok {
		return recorded{}, false
	}
	return record(t)
}

// record is what the ledger keeps of a task. [Record] has seen that it can be made.
func record(t tasks.Task) (recorded, bool) {
	rec, contents, err := tasks.Record(t)
	return recorded{rec, contents}, err == nil && rec.Kind != ""
}

// All are those that the ledger keeps, in order.
func (r *Records) All() (list []recorded) {
	for _, t := range r.Order {
		if rec, kept := record(t); kept {
			list = append(list, rec)
		}
	}
	return list
}

// Waits are the waits for CNI confs, which a revision has, and the ledger does not.
func (r *Records) Waits() (list []tasks.Recorded, err error) {
	for _, t := range r.Order {
		rec, is, err := tasks.RecordWait(t)
		if err != nil {
			return nil, err
		}
		if is {
			list = append(list, rec)
		}
	}
	return list, nil
}

// Name names what tasks want together.
func (r *Records) Name(list []tasks.Task) string {
	sum := sha256.New()
	for _, t := range list {
		rec, known := r.Of(t.Owns()[0])
		if !known {
			continue // it only waits
		}
		sum.Write(appendLine(nil, rec.Recorded))
		if set, ok := t.(tasks.CertificateSet); ok { // its record has none of what was issued to this node
			sum.Write(set.Cert.PEM)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Same says that a revision wants of the host what this set does: another release wrote it, which
// says more of a task, or less.
func (r *Records) Same(rev ledger.Revision) bool {
	var ours, its []string
	for _, rec := range r.All() {
		ours = append(ours, rec.State())
	}
	for _, rec := range rev.Tasks {
		its = append(its, rec.State())
	}
	slices.Sort(ours)
	slices.Sort(its)
	return slices.Equal(ours, its)
}
