package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// takeCustody records the desired set. It reads nothing of the host.
func takeCustody(g *graph.Graph[tasks.Task], led *ledger.Ledger) (*custody, error) {
	c := &custody{led: led, order: g.Order()}
	var err error
	if c.records, err = recordAll(c.order); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var line []byte
	for i := range c.records {
		rec := &c.records[i]
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
	c.print = hex.EncodeToString(sum.Sum(nil))
	return c, nil
}

// keys are all that are wanted, each with the place in order of the task that owns it.
func (c *custody) keys() map[graph.Key]int {
	if c.places == nil {
		c.places = make(map[graph.Key]int, len(c.order))
		for i, t := range c.order {
			for _, key := range t.Owns() {
				c.places[key] = i
			}
		}
	}
	return c.places
}

// wanted says that a task owns the key.
func (c *custody) wanted(key graph.Key) bool {
	_, ok := c.keys()[key]
	return ok
}

// record is what the ledger keeps of the task whose first key this is; false where it keeps
// nothing.
func (c *custody) record(first graph.Key) (*recorded, bool) {
	i, ok := c.keys()[first]
	if !ok || c.records[i].Kind == "" {
		return nil, false
	}
	return &c.records[i], true
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
				out[i].Recorded, out[i].blobs, errs[s] = tasks.Record(list[i])
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// inStep says that the ledger was left with this very set, and nothing open.
func (c *custody) inStep() bool {
	head := c.led.Head()
	return head.Settled && head.Print == c.print
}

// effectual says that a key is state, and not an action.
func effectual(key graph.Key) bool { return key.Kind() != tasks.KindEffect }

// wants says that the desired set has the key, or something below a directory that was made for it.
func (c *custody) wants(e ledger.Entry) bool {
	if c.wanted(e.Key) {
		return true
	}
	if !e.Parent {
		return false
	}
	for key := range c.keys() {
		if key.Kind() == tasks.KindMount {
			key = tasks.FileKey(key.Name() + "/mounted") // it needs its own directory
		}
		for up, ok := graph.PathParent(key); ok; up, ok = graph.PathParent(up) {
			if up == e.Key {
				return true
			}
		}
	}
	return false
}
