package fetch

import (
	"io"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// reading is the reader through which a pass reads a download.
type reading struct {
	ended   <-chan struct{} // closed when the pass has ended
	why     func() error
	of      *Aside
	d       *download
	off     int64
	timeout *time.Timer
	waits   bool // it has read all that arrived, and its key waits for the rest
	failed  bool
}

// opened waits until the server has begun to answer.
func (r *reading) opened() error {
	for {
		now := r.d.now()
		switch {
		case now.open:
			return nil
		case now.over:
			return r.fail(now.err)
		}
		if err := r.wait(now.more); err != nil {
			return err
		}
	}
}

// Read implements [io.Reader].
func (r *reading) Read(p []byte) (int, error) {
	for {
		now := r.d.now()
		switch {
		case r.off < now.size:
			n, err := r.d.spool.ReadAt(p[:min(int64(len(p)), now.size-r.off)], r.off)
			r.off += int64(n)
			return n, err
		case now.over && now.err == nil:
			return 0, io.EOF
		case now.over:
			return 0, r.fail(now.err)
		}
		if err := r.wait(now.more); err != nil {
			return 0, err
		}
	}
}

// fail returns the error of a download. After READY the error is permanent, so that the next pass
// tries again and not this one.
func (r *reading) fail(err error) error {
	r.failed = true
	if r.of.early() {
		return err
	}
	return graph.Permanent(err)
}

// wait waits for more bytes, but not longer than a pass may.
func (r *reading) wait(more <-chan struct{}) error {
	select {
	case <-more:
		return nil
	case <-r.ended:
		return r.why()
	case <-r.timeout.C:
	}
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	if r.d.over {
		return nil
	}
	r.waits, r.d.left = true, true
	return changes.Fetching("what is being fetched from " + tasks.Shown(r.d.url))
}

// Close implements [io.Closer]. It forgets a download that was read. It keeps one that the pass
// still waits for, and after READY one that failed, so that it is not tried again at once.
func (r *reading) Close() error {
	r.timeout.Stop()
	if r.waits || r.failed && !r.of.early() {
		return nil
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.downloads[r.d.wanted] == r.d {
		r.of.drop(r.d.wanted)
	}
	return nil
}
