package host

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// syncer makes what was written durable. While one round of syncs runs, those
// who come next gather for a round of their own: many small commits at a time cost
// few flushes, and a single one waits for nobody.
type syncer struct {
	mu      sync.Mutex
	next    *syncRound // those who gather; nil when nobody does
	running sync.Mutex
}

type syncItem struct {
	fd   int
	name string // for the message
	err  error
}

type syncRound struct {
	groups [][]syncItem
	done   chan struct{}
}

// sync returns when all items of the group are on the disk.
func (s *syncer) sync(group []syncItem) error {
	if len(group) == 0 {
		return nil
	}
	s.mu.Lock()
	r := s.next
	leads := r == nil
	if leads {
		r = &syncRound{done: make(chan struct{})}
		s.next = r
	}
	r.groups = append(r.groups, group)
	s.mu.Unlock()

	if leads {
		s.running.Lock()
		s.mu.Lock()
		s.next = nil
		s.mu.Unlock()
		r.run()
		s.running.Unlock()
		close(r.done)
	}
	<-r.done
	var errs []error
	for _, it := range group {
		errs = append(errs, explain("sync", it.name, it.err))
	}
	return errors.Join(errs...)
}

const (
	// manyFiles is from where one syncfs is cheaper than an fsync each, even when
	// others have written hundreds of megabytes that it has to wait for.
	manyFiles   = 64
	syncWorkers = 16
)

func (r *syncRound) run() {
	var items []*syncItem
	for _, group := range r.groups {
		for i := range group {
			items = append(items, &group[i])
		}
	}
	if len(items) >= manyFiles {
		syncFileSystems(items)
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, syncWorkers)
	for _, it := range items {
		slots <- struct{}{}
		wg.Go(func() {
			it.err = again(func() error { return unix.Fsync(it.fd) })
			<-slots
		})
	}
	wg.Wait()
}

// syncFileSystems syncs each file system that an item is on, once. An error
// of the write-back is reported since Linux 5.8; before, only the kernel's log has it.
func syncFileSystems(items []*syncItem) {
	done := map[uint64]error{}
	for _, it := range items {
		info, err := statx(it.fd, "", unix.AT_EMPTY_PATH)
		if err != nil {
			it.err = err
			continue
		}
		result, ok := done[info.Dev]
		if !ok {
			result = unix.Syncfs(it.fd)
			done[info.Dev] = result
		}
		it.err = result
	}
}
