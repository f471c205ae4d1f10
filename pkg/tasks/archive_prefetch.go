package tasks

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// ArchivePrefetch is an [Archive] that is fetched and unpacked before it may be installed. Until
// then no file of it is visible, and a kill leaves none: see [hostfs.Batch.Unnamed].
type ArchivePrefetch struct {
	archive Archive
	from    string
	of      hostfs.Unpacking
	batch   *hostfs.Batch
	stop    context.CancelCauseFunc
	done    chan struct{} // closed when got and err are known
	got     map[string]hostfs.Member
	err     error
}

// Prefetch starts to fetch an archive without a receipt from its first URL, and returns at once;
// nil: there is nothing to fetch. It is for a pass that must first write the ledger: meanwhile the
// download runs. The caller then calls [ArchivePrefetch.Apply] instead of Apply, and ends it with
// [ArchivePrefetch.Discard].
func (t Archive) Prefetch(ctx context.Context, h *host.Host) *ArchivePrefetch {
	have, err := t.look(h.Live.View())
	if err != nil || len(t.URLs) == 0 || t.Fetch == nil {
		return nil // Apply reports the error
	}
	members := have.missing()
	if len(members) == 0 || len(have.receipt) > 0 {
		return nil // its members may be cached: see [Archive.Cache]
	}
	f := &ArchivePrefetch{archive: t, from: t.URLs[0], of: t.unpacking(members, have.want), batch: h.Files.Batch(),
		done: make(chan struct{})}
	f.batch.Unnamed()
	ctx, f.stop = context.WithCancelCause(ctx)
	go func() {
		defer close(f.done)
		f.got, f.err = t.unpack(ctx, f.batch, f.from, f.of)
	}()
	return f
}

// Apply does what [Archive.Apply] does, with the prefetched members. Where these cannot be used, or
// in a second call, it fetches the archive again.
func (f *ArchivePrefetch) Apply(ctx context.Context, h *host.Host) error {
	err := f.archive.apply(ctx, h, f)
	if errors.Is(err, syscall.EXDEV) { // a file system was mounted on the directory meanwhile
		return f.archive.apply(ctx, h, nil)
	}
	return err
}

// take waits for the prefetched batch and returns it, once. It returns nil without an error where
// there is no usable one: the caller then fetches the archive. The error is one of the URL.
func (f *ArchivePrefetch) take(
	ctx context.Context, from string, of hostfs.Unpacking,
) (*hostfs.Batch, map[string]hostfs.Member, error) {
	if f == nil || f.batch == nil || from != f.from || !slices.Equal(of.Members, f.of.Members) {
		return nil, nil, nil
	}
	if now, then := of.Spec, f.of.Spec; now.Mode != then.Mode || now.UID != then.UID || now.GID != then.GID {
		return nil, nil, nil
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	b := f.batch
	f.batch = nil
	if f.err == nil {
		return b, f.got, nil
	}
	b.Discard()
	var wrong *archive.Error
	if f.archive.elsewhere(f.err) || errors.As(f.err, &wrong) || graph.IsWait(f.err) {
		return nil, nil, f.err
	}
	return nil, nil, nil // the file system has no unnamed files, or too little space for them
}

// Discard stops the download and removes its files. Installed files stay.
func (f *ArchivePrefetch) Discard() {
	f.stop(errors.New("the pass needs it no more"))
	<-f.done
	if f.batch != nil {
		f.batch.Discard()
	}
}
