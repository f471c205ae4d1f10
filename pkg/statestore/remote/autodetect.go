package remote

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Autodetect is a store that is either a published cluster or kOps' own. Each Fetch looks for both
// until one was found.
type Autodetect struct {
	*Remote
	kops *kopsStore

	mu     sync.Mutex
	isKops bool
}

var _ statestore.Store = (*Autodetect)(nil)

// NewAutodetect returns the store of a cluster that may be kOps' own. group is the node group whose
// documents are read there.
func NewAutodetect(source objectstore.Source, cluster, group string, policy *trust.Policy) *Autodetect {
	return &Autodetect{Remote: New(source, cluster, policy),
		kops: &kopsStore{source: source, cluster: cluster, group: group, trust: policy}}
}

// Fetch implements [statestore.Store].
func (e *Autodetect) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var none error
	if !e.isKops {
		s, err := e.Remote.Fetch(ctx, last)
		if e.Remote.seen() || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		none = err
	}
	s, err := e.kops.Fetch(ctx, last)
	switch {
	case err == nil, errors.Is(err, statestore.ErrNotModified):
		e.isKops = true
		return s, err
	case none != nil && errors.Is(err, fs.ErrNotExist):
		return nil, none
	}
	return nil, e.wrap(err)
}
