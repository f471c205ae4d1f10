package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
)

// tellingStore reports when it has something new.
type tellingStore struct {
	statestore.Store
	says    chan error // the results of Changed, one after the other
	asked   atomic.Int32
	refuses atomic.Bool
}

func (s *tellingStore) Changed(ctx context.Context) error {
	if s.asked.Add(1) == 1 {
		s.says = make(chan error) // made within the daemon's time
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-s.says:
		return err
	}
}

func (s *tellingStore) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	if s.refuses.Load() {
		return nil, errors.New("no")
	}
	return s.Store.Fetch(ctx, last)
}

// A change of the store wakes the daemon. A watch that breaks is started again, and one that is
// forbidden is not. No watch runs while the store cannot be read.
func TestTheStoreIsWatched(t *testing.T) {
	b := newBox(t)
	s := &tellingStore{Store: b.daemon.Store}
	b.daemon.Store = s
	b.live(t, func(t *testing.T) {
		passes := len(b.manager.words())
		tell := func(err error) int {
			s.says <- err
			later(watchSplay + time.Second)
			n := len(b.manager.words()) - passes
			passes += n
			return n
		}
		if s.asked.Load() != 1 {
			t.Fatalf("it was watched %d times, want once", s.asked.Load())
		}
		if n := tell(nil); n != 1 || s.asked.Load() != 2 {
			t.Errorf("a change made %d passes, and it is watched for the %d. time; want one pass, and the second", n, s.asked.Load())
		}
		if n := tell(graph.Transient(errors.New("the line broke"))); n != 0 || s.asked.Load() != 3 {
			t.Errorf("a broken watch made %d passes, and it is watched for the %d. time; want no pass, and the third", n, s.asked.Load())
		}
		if n := tell(nil); n != 1 || s.asked.Load() != 4 {
			t.Errorf("a change after it made %d passes, watched for the %d. time", n, s.asked.Load())
		}
		s.refuses.Store(true)
		tell(nil)
		if later(time.Minute); s.asked.Load() != 4 {
			t.Errorf("it is watched for the %d. time while it cannot be read", s.asked.Load())
		}
		s.refuses.Store(false)
		later(2 * time.Minute)
		if s.asked.Load() != 5 {
			t.Errorf("it is watched for the %d. time when it can be read again, want the fifth", s.asked.Load())
		}
		passes = len(b.manager.words())
		if n := tell(errors.New("forbidden")); n != 0 || s.asked.Load() != 5 || b.logged("not watched: the store is asked every interval") != 1 {
			t.Errorf("a watch that is forbidden made %d passes, and was asked for again: %d", n, s.asked.Load())
		}
		for range 3 {
			later(11 * time.Minute)
			tell(errors.New("forbidden"))
		}
		if n := b.logged("not watched: the store is asked every interval"); n != 1 {
			t.Errorf("that it is not watched is told %d times", n)
		}
	})
}
