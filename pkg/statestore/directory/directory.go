// Package directory is the store in a directory of this machine, plain or published. It finds
// changes with stat alone, and reads all files as they were at one moment. A [Writer] publishes
// into a directory.
package directory

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Directory is a store in a directory of this machine, plain or published. It writes nothing.
type Directory struct {
	dir     string // absolute
	cluster string
	cache   statestore.Cache // nil for none
	trust   *trust.Policy    // nil accepts every manifest

	mu   sync.Mutex
	seen knowledge
}

// knowledge is the result of the last read. While the files are the same, the next Fetch reads
// nothing.
type knowledge struct {
	sum      blob.Digest // a digest of all files with their stamps
	revision statestore.Revision
}

var _ statestore.Store = (*Directory)(nil)

// New returns the store of one cluster, whose directory is in dir. It reads nothing. A nil policy
// accepts every manifest.
func New(dir, cluster string, policy *trust.Policy) (*Directory, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the state store %q: %w", dir, err)
	}
	return &Directory{dir: abs, cluster: cluster, trust: policy}, nil
}

// Remember sets the cache. The caller calls it before it uses the store.
func (d *Directory) Remember(m statestore.Cache) { d.cache = m }

// String implements [statestore.Store].
func (d *Directory) String() string { return filepath.Join(d.dir, d.cluster) }

// The number of attempts to read a directory that changes meanwhile, and the first pause between
// two. The pause doubles each time.
const (
	attempts   = 6
	firstPause = 10 * time.Millisecond
)

func (d *Directory) wrap(err error) error { return fmt.Errorf("state store %s: %w", d, err) }
