// Package directory is the store in a directory of this machine, plain or published: it lists by
// stat alone, and reads all files as they were at one moment. A [Writer] publishes into one.
package directory

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Directory is a store in a directory of this machine, plain or published. It is read and never
// written.
type Directory struct {
	dir     string // absolute
	cluster string
	cache   statestore.Cache // nil: none
	trust   *trust.Policy    // nil: whatever is there is taken

	mu   sync.Mutex
	seen knowledge
}

// knowledge is what the last reading found, so that the next one need not read.
type knowledge struct {
	objects  []listed // all files; equal when nothing happened to any
	revision statestore.Revision
}

var _ statestore.Store = (*Directory)(nil)

// New returns the store in dir for one cluster, which is a directory in it. It reads
// nothing yet. With a nil policy whatever is there is taken.
func New(dir, cluster string, policy *trust.Policy) (*Directory, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the state store %q: %w", dir, err)
	}
	return &Directory{dir: abs, cluster: cluster, trust: policy}, nil
}

// Remember gives the store a memory, before it is used.
func (d *Directory) Remember(m statestore.Cache) { d.cache = m }

// String implements [statestore.Store].
func (d *Directory) String() string { return filepath.Join(d.dir, d.cluster) }

// How often a directory that changes under the reader is read again, and the pauses between: 10 ms,
// doubled.
const (
	attempts   = 6
	firstPause = 10 * time.Millisecond
)

func (d *Directory) wrap(err error) error { return fmt.Errorf("state store %s: %w", d, err) }
