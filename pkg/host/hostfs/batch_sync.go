package hostfs

import (
	"errors"
	"sync"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// syncItem is an open file or directory that shall be on the disk.
type syncItem struct {
	fd   int
	name string // for the message
	err  error
}

// manyFiles is from where a batch is synced with one syncfs. On an idle disk that is cheaper from a
// few files on, but it waits for all that others have written as well, and a node that boots pulls
// images.
const (
	manyFiles   = 64
	syncWorkers = 16
)

// syncAll returns when all items are on the disk. Several callers do not wait for one another: the
// file system's journal joins their syncs by itself.
func syncAll(items []syncItem) error {
	if len(items) >= manyFiles {
		syncFileSystems(items)
	} else {
		syncEach(items)
	}
	var errs []error
	for _, it := range items {
		errs = append(errs, hostpath.Explain("sync", it.name, it.err))
	}
	return errors.Join(errs...)
}

func syncEach(items []syncItem) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, syncWorkers)
	for i := range items {
		it := &items[i]
		if len(items) == 1 {
			it.err = fsync(it.fd)
			return
		}
		slots <- struct{}{}
		wg.Go(func() {
			it.err = fsync(it.fd)
			<-slots
		})
	}
	wg.Wait()
}

// syncFileSystems syncs each file system that an item is on, once. An error
// of the write-back is reported since Linux 5.8; before, only the kernel's log has it.
func syncFileSystems(items []syncItem) {
	done := map[uint64]error{}
	for i := range items {
		it := &items[i]
		info, err := hostpath.Fstat(it.fd)
		if err != nil {
			it.err = err
			continue
		}
		result, ok := done[info.Dev]
		if !ok {
			result = syncfs(it.fd)
			done[info.Dev] = result
		}
		it.err = result
	}
}
