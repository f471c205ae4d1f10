package hostfs

import (
	"errors"
	"sync"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// syncItem is an open file or directory to be synced.
type syncItem struct {
	fd   int
	name string // for the message
	err  error
}

// manyFiles is the number of files from which a batch uses one syncfs. On an idle disk syncfs is
// cheaper even for a few files. But it also waits for what other programs have written, and a
// booting node pulls images.
const (
	manyFiles   = 64
	syncWorkers = 16
)

// syncAll syncs all items and waits for that. Calls do not wait for one another: the journal of the
// file system joins their syncs.
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

// syncFileSystems syncs each file system of the items once. Since Linux 5.8 syncfs returns
// write-back errors; before, they are only in the kernel's log.
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
