package directory

import (
	"context"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Watch calls changed for each change of the cluster's files, once they are the same at two looks
// that are so far apart: an edit of several files is one change. It looks by stat alone, which sees
// the files of a server too, of which inotify has no events. It returns when ctx ends; it may hang
// where the file system does. The daemon calls it.
func (d *Directory) Watch(ctx context.Context, every time.Duration, changed func()) {
	told := d.glance(ctx, nil)
	next := func() time.Duration { return time.Until(host.NextTick(time.Now(), every)) }
	for last, pause := told, next(); host.Sleep(ctx, pause); {
		began := time.Now()
		now := d.glance(ctx, last.listing)
		pause = max(next(), glanceShare*time.Since(began))
		if now.is(last) && !now.is(told) && ctx.Err() == nil {
			told = now
			changed()
		}
		last = now
	}
}

// glanceShare bounds what the looks cost where there are thousands of files: one part of so many of
// the time.
const glanceShare = 2000

// glance is what stat says of the files, or why it says nothing.
type glance struct {
	*listing
	err string
}

func (g glance) is(o glance) bool {
	return g.err == o.err && (g.err != "" || slices.Equal(g.objects, o.objects))
}

// glance looks at the files. What an earlier look listed is not listed again.
func (d *Directory) glance(ctx context.Context, earlier *listing) glance {
	root, err := d.openRoot()
	if err != nil {
		return glance{err: err.Error()}
	}
	defer root.Close()
	l, err := d.list(ctx, root, earlier)
	if err != nil {
		return glance{err: err.Error()}
	}
	return glance{listing: l}
}
