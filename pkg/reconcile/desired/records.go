package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// Records are the tasks that are wanted, as they will stand in the ledger. They do not change.
type Records struct {
	Order       []tasks.Task
	List        []recorded        // beside order; of no kind where a task only waits, and leaves nothing behind
	places      map[graph.Key]int // in order; nil until somebody asks: when nothing is to be done, nobody does
	Fingerprint string            // of all of them
}

// RecordedTask is a task as it will stand in the ledger.
type recorded struct {
	tasks.Recorded
	Contents []blob.Content
}

// Record records the tasks of a graph. It reads nothing of the host.
func Record(g *tasks.Graph) (*Records, error) {
	r := &Records{Order: g.Order()}
	var err error
	if r.List, err = recordAll(r.Order); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var line []byte
	for i := range r.List {
		rec := &r.List[i]
		if rec.Kind == "" {
			continue
		}
		// Not where it comes from: a line that moved in its document is no other set.
		line = fmt.Appendf(line[:0], "%s %d %d %d\n", rec.Kind, rec.Version, len(rec.Params), len(rec.Blobs))
		line = append(line, rec.Params...)
		for _, digest := range rec.Blobs {
			line = append(line, digest[:]...)
		}
		sum.Write(line)
	}
	r.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// Keys are all that are wanted, each with the place in order of the task that owns it.
func (r *Records) Keys() map[graph.Key]int {
	if r.places == nil {
		r.places = make(map[graph.Key]int, len(r.Order))
		for i, t := range r.Order {
			for _, key := range t.Owns() {
				r.places[key] = i
			}
		}
	}
	return r.places
}

// Wants says that a task owns the key.
func (r *Records) Wants(key graph.Key) bool {
	_, ok := r.Keys()[key]
	return ok
}

// Of is what the ledger keeps of the task whose first key this is; false where it keeps nothing.
func (r *Records) Of(first graph.Key) (*recorded, bool) {
	i, ok := r.Keys()[first]
	if !ok || r.List[i].Kind == "" {
		return nil, false
	}
	return &r.List[i], true
}

// All are those that the ledger keeps, in order.
func (r *Records) All() (list []*recorded) {
	for i := range r.List {
		if r.List[i].Kind != "" {
			list = append(list, &r.List[i])
		}
	}
	return list
}

// recordAll records tasks on all processors: a pass that finds nothing to do spends more on this
// than on its graph.
func recordAll(list []tasks.Task) ([]recorded, error) {
	out, shares := make([]recorded, len(list)), runtime.GOMAXPROCS(0)
	errs := make([]error, shares)
	var all sync.WaitGroup
	for s := range shares {
		all.Go(func() {
			for i := s * len(list) / shares; i < (s+1)*len(list)/shares && errs[s] == nil; i++ {
				out[i].Recorded, out[i].Contents, errs[s] = tasks.Record(list[i])
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// Name names what tasks want together.
func (r *Records) Name(list []tasks.Task) string {
	sum := sha256.New()
	for _, t := range list {
		rec, known := r.Of(t.Owns()[0])
		if !known {
			continue // it only waits
		}
		fmt.Fprintf(sum, "%s %d %d %d\n%s", rec.Kind, rec.Version, len(rec.Params), len(rec.Blobs), rec.Params)
		for _, digest := range rec.Blobs {
			sum.Write(digest[:])
		}
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
