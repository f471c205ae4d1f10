package rollout

import (
	"fmt"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/remote"
)

// StoreCache is what the ledger of a host knows about a store: which files have not changed, and
// the contents that were applied before.
type StoreCache struct {
	*ledger.Stamps
	Host host.Options
}

var _ statestore.Cache = StoreCache{}

// Lookup implements [hostfs.Stamps]. With --verify it finds nothing.
func (m StoreCache) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	if m.Host.Verify {
		return blob.Digest{}, false
	}
	return m.Stamps.Lookup(path, info)
}

// Blob implements [statestore.Cache].
func (m StoreCache) Blob(sum blob.Digest) ([]byte, error) {
	files, err := host.OpenFiles(m.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.Host.Root, err)
	}
	defer files.Close() // only read from
	return ledger.Blob(files, sum)
}

// Retained implements [statestore.Cache]. With --verify it returns nothing.
func (m StoreCache) Retained(store string) [][]byte {
	if m.Host.Verify {
		return nil
	}
	files, err := host.OpenFiles(m.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	good, err := ledger.ReadLastGood(files)
	if err != nil || good == nil || good.Store != store {
		return nil
	}
	packed, err := ledger.Blob(files, good.Objects)
	if err != nil {
		return nil
	}
	return remote.Unpack(packed)
}

// Remember gives a store the cache of a host, if the store can use one. It returns the stamps that
// the store and the caller then share. The caller calls it once, before it fetches anything.
// Without it the store reads everything.
func Remember(opt host.Options, store statestore.Store) (*ledger.Stamps, error) {
	s, ok := store.(interface{ Remember(statestore.Cache) })
	if !ok {
		return nil, nil
	}
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, err)
	}
	defer files.Close() // only read from
	stamps, err := ledger.LoadStamps(files)
	if err != nil {
		return nil, err
	}
	s.Remember(StoreCache{stamps, opt})
	return stamps, nil
}
