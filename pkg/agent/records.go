package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// records are the tasks that are wanted, as they will stand in the ledger. They do not change.
type records struct {
	order  []tasks.Task
	list   []recorded        // beside order; of no kind where a task only waits, and leaves nothing behind
	places map[graph.Key]int // in order; nil until somebody asks: when nothing is to be done, nobody does
	print  string            // of all of them
}

// recorded is a task as it will stand in the ledger.
type recorded struct {
	tasks.Recorded
	contents []hostfs.Content
}

// record records the tasks of a graph. It reads nothing of the host.
func record(g *graph.Graph[tasks.Task]) (*records, error) {
	r := &records{order: g.Order()}
	var err error
	if r.list, err = recordAll(r.order); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var line []byte
	for i := range r.list {
		rec := &r.list[i]
		if rec.Kind == "" {
			continue
		}
		// Not where it comes from: a line that moved in its document is no other set.
		line = fmt.Appendf(line[:0], "%s %d %d %d\n", rec.Kind, rec.Version, len(rec.Params), len(rec.Blobs))
		line = append(line, rec.Params...)
		for _, blob := range rec.Blobs {
			line = append(line, blob[:]...)
		}
		sum.Write(line)
	}
	r.print = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// keys are all that are wanted, each with the place in order of the task that owns it.
func (r *records) keys() map[graph.Key]int {
	if r.places == nil {
		r.places = make(map[graph.Key]int, len(r.order))
		for i, t := range r.order {
			for _, key := range t.Owns() {
				r.places[key] = i
			}
		}
	}
	return r.places
}

// wants says that a task owns the key.
func (r *records) wants(key graph.Key) bool {
	_, ok := r.keys()[key]
	return ok
}

// of is what the ledger keeps of the task whose first key this is; false where it keeps nothing.
func (r *records) of(first graph.Key) (*recorded, bool) {
	i, ok := r.keys()[first]
	if !ok || r.list[i].Kind == "" {
		return nil, false
	}
	return &r.list[i], true
}

// all are those that the ledger keeps, in order.
func (r *records) all() (list []*recorded) {
	for i := range r.list {
		if r.list[i].Kind != "" {
			list = append(list, &r.list[i])
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
				out[i].Recorded, out[i].contents, errs[s] = tasks.Record(list[i])
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// name names what tasks want together.
func (r *records) name(list []tasks.Task) string {
	sum := sha256.New()
	for _, t := range list {
		rec, known := r.of(t.Owns()[0])
		if !known {
			continue // it only waits
		}
		fmt.Fprintf(sum, "%s %d %d %d\n%s", rec.Kind, rec.Version, len(rec.Params), len(rec.Blobs), rec.Params)
		for _, blob := range rec.Blobs {
			sum.Write(blob[:])
		}
		if set, ok := t.(tasks.CertificateSet); ok { // its record has none of what was issued to this node
			sum.Write(set.Cert.PEM)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// same says that a revision wants of the host what this set does: another release wrote it, which
// says more of a task, or less.
func (r *records) same(rev ledger.Revision) bool {
	var ours, its []string
	for _, rec := range r.all() {
		ours = append(ours, rec.State())
	}
	for _, rec := range rev.Tasks {
		its = append(its, rec.State())
	}
	slices.Sort(ours)
	slices.Sort(its)
	return slices.Equal(ours, its)
}
