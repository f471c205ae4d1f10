package reconcile

import (
	"fmt"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/statestore"
)

// StoreMemory is what the ledger of a host knows of a store: which of its files are as they were,
// and the contents that were ever applied.
type StoreMemory struct {
	*ledger.Stamps
	Host host.Options
}

var _ statestore.Memory = StoreMemory{}

// Known implements [hostfs.Stamps]. With --verify nothing is known.
func (m StoreMemory) Known(path string, info hostfs.FileInfo) (hostfs.Digest, bool) {
	if m.Host.Verify {
		return hostfs.Digest{}, false
	}
	return m.Stamps.Known(path, info)
}

// Blob implements [statestore.Memory].
func (m StoreMemory) Blob(sum hostfs.Digest) ([]byte, error) {
	files, err := host.OpenFiles(m.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.Host.Root, err)
	}
	defer files.Close() // only read from
	return ledger.Blob(files, sum)
}

// Remember gives a store the memory of this pass' host, where it can use one. The caller does so
// once, before anything is fetched; without it everything is read.
func (p *Pass) Remember(store statestore.Store) error {
	s, ok := store.(interface{ Remember(statestore.Memory) })
	if !ok {
		return nil
	}
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	defer files.Close() // only read from
	p.stamps = ledger.LoadStamps(files)
	s.Remember(StoreMemory{p.stamps, p.Host})
	return nil
}
