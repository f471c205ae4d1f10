package directory

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
)

// Watch calls changed after the cluster's files changed and then stayed the same for one interval,
// so that an edit of several files is one change. It looks with stat alone, because inotify has no
// events for changes on a file server. It returns when ctx ends. It blocks while the file system
// blocks. The daemon calls it.
func (d *Directory) Watch(ctx context.Context, every time.Duration, changed func()) {
	told, dirs := d.glance(ctx, nil)
	next := func() time.Duration { return time.Until(host.NextTick(time.Now(), every)) }
	for last, pause := told, next(); host.Sleep(ctx, pause); {
		began, now := time.Now(), glance{}
		now, dirs = d.glance(ctx, dirs)
		pause = rest(time.Since(began), next())
		if now == last && now != told && ctx.Err() == nil {
			told = now
			changed()
		}
		last = now
	}
}

// The looks at a store with thousands of files must cost little: each pause is at least glanceShare
// times as long as the look before. But it is not extended beyond longestRest, because a look may
// also be slow only once, as at a file server.
const (
	glanceShare = 2000
	longestRest = time.Minute
)

// rest returns the pause after a look that took so long. next is the time to the next tick.
func rest(took, next time.Duration) time.Duration {
	return max(next, min(glanceShare*took, longestRest))
}

// glance is a listing of the files, or the text of the error.
type glance struct {
	sum blob.Digest
	err string
}

// glance lists the files. earlier are the directories of an earlier look.
func (d *Directory) glance(ctx context.Context, earlier map[string]names) (glance, map[string]names) {
	root, err := d.openRoot()
	if err != nil {
		return glance{err: err.Error()}, nil
	}
	defer root.Close()
	l, err := d.list(ctx, root, earlier)
	if err != nil {
		return glance{err: err.Error()}, nil
	}
	return glance{sum: l.sum()}, l.dirs
}
