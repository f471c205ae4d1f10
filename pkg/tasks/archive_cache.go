package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// The agent caches a second copy of each installed member, named by its sha256. From it a deleted
// or overwritten member is restored without the archive's URLs. It is a copy and no hard link,
// because a write into the installed file would change both. The agent verifies a cached copy as it
// verifies a download.

// memberCacheDir is the directory of the cached members.
const memberCacheDir = receiptDir + "/members"

func memberCachePath(of hostfs.Member) string { return memberCacheDir + "/" + of.SHA256.String() }

// memberCacheSpec has the mode of cached members: nobody runs them from there.
var memberCacheSpec = hostfs.FileSpec{Mode: 0o600}

// Cache copies the members that are not cached yet. A pass calls it at its end where it found the
// archive right. It may be called again. Its error is one of the disk; members that were cached
// before stay.
func (t Archive) Cache(ctx context.Context, h *host.Host) error {
	known, err := t.readReceipt(h.Live.View())
	if err != nil {
		return fmt.Errorf("keep %s: %w", t.Name, err)
	}
	missing, size, err := t.uncached(h.Live.View(), known)
	if err != nil || len(missing) == 0 {
		return err
	}
	if _, there, _ := lstat(h.Live.View(), memberCacheDir); !there {
		if err := h.Files.Mkdir(memberCacheDir, 0o700, 0, 0); err != nil {
			return fmt.Errorf("keep %s: %w", t.Name, err)
		}
	}
	// Cache does not fill a disk that is nearly full with a second copy, because kubelet evicts
	// pods from such a node.
	if room, err := hostfs.Room(h.Live.Files, memberCacheDir); err == nil && room/2 < size {
		return fmt.Errorf("keep %s: %d MiB more would take more than half of the free space for %s: free "+
			"some space",
			t.Name, (size+1<<20-1)>>20, memberCacheDir)
	}
	b := h.Files.Batch()
	defer b.Discard()
	for _, name := range missing {
		err := b.Copy(path.Join(t.Dir, name), memberCachePath(known[name]), memberCacheSpec, known[name])
		var other *hostfs.CopyError
		if errors.As(err, &other) || errors.Is(err, fs.ErrNotExist) {
			continue // changed since the pass found it right: the next pass repairs it
		}
		if err != nil {
			return fmt.Errorf("keep %s of %s: %w", name, t.Name, err)
		}
	}
	return b.Commit(ctx)
}

// uncached returns the members that are not cached, and their total size.
func (t Archive) uncached(v host.View, known map[string]hostfs.Member) (missing []string, size int64, err error) {
	for _, name := range t.Members {
		is, recorded := known[name]
		if !recorded {
			continue
		}
		info, there, err := lstat(v, memberCachePath(is))
		if err != nil {
			return nil, 0, fmt.Errorf("keep %s: %w", t.Name, err)
		}
		if !there || info.Type != hostfs.Regular || info.Size != is.Size {
			missing, size = append(missing, name), size+is.Size
		}
	}
	return missing, size, nil
}

// Had returns nil where nothing of the archive must be fetched, or where have returns nil for one
// of its URLs. Otherwise it returns why not: a [graph.WaitError] while a download runs.
func (t Archive) Had(ctx context.Context, v host.View, have func(url string) error) error {
	if !t.lacks(v) {
		return nil
	}
	return t.fromURLs(ctx, func(from string) error {
		if err := have(from); err != nil {
			return &unfetchedError{err}
		}
		return nil
	})
}

// lacks reports whether a member must be fetched.
func (t Archive) lacks(v host.View) bool {
	have, err := t.look(v)
	if err != nil {
		return false // the plan reports the error
	}
	return slices.ContainsFunc(have.missing(), func(name string) bool {
		is, recorded := have.receipt[name]
		_, there, err := lstat(v, memberCachePath(is))
		return !recorded || !there || err != nil
	})
}

// restore installs the missing members that are cached, as one batch. It returns the members that
// are not, and the errors of damaged copies, which it deletes.
func (t Archive) restore(ctx context.Context, h *host.Host, have archiveState) (rest, damaged []string, err error) {
	b := h.Files.Batch()
	defer b.Discard()
	rest, damaged, err = t.fromCache(h, b, have, t.Dir, have.want.spec())
	if err != nil {
		return nil, nil, err
	}
	return rest, damaged, b.Commit(ctx)
}

// fromCache stages the missing members that are cached.
func (t Archive) fromCache(
	h *host.Host, b *hostfs.Batch, have archiveState, dir string, spec hostfs.FileSpec,
) (rest, damaged []string, err error) {
	for _, name := range have.missing() {
		is, recorded := have.receipt[name]
		if !recorded {
			rest = append(rest, name)
			continue
		}
		err := b.Copy(memberCachePath(is), path.Join(dir, name), spec, is)
		var other *hostfs.CopyError
		switch {
		case err == nil:
			continue
		case errors.As(err, &other):
			damaged = append(damaged, err.Error())
			err = h.Files.Remove(memberCachePath(is))
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		if err != nil {
			return nil, nil, err
		}
		rest = append(rest, name)
	}
	return rest, damaged, nil
}

// ForgetArchives removes the receipts and cached members of all archives except wanted. The caller
// must pass all archives that may be wanted again.
func ForgetArchives(h *host.Host, wanted []Archive) error {
	names, err := h.Live.Files.ReadDir(receiptDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the archives that are known: %w", err)
	}
	var members []string
	for _, t := range wanted {
		known, err := t.readReceipt(h.Live.View())
		if err != nil {
			return fmt.Errorf("forget archives: %w", err)
		}
		for _, is := range known {
			members = append(members, memberCachePath(is))
		}
		members = append(members, t.receiptPath())
	}
	for i, name := range names {
		names[i] = path.Join(receiptDir, name)
	}
	kept, err := h.Live.Files.ReadDir(memberCacheDir)
	if IgnoreMissing(err) != nil {
		return fmt.Errorf("list the members that are kept: %w", err)
	}
	for _, name := range kept {
		names = append(names, path.Join(memberCacheDir, name))
	}
	for _, name := range names {
		// staged files are removed by the process that staged them
		if name == memberCacheDir || slices.Contains(members, name) || strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		if err := h.Files.Remove(name); err != nil {
			return fmt.Errorf("remove the record of an archive's members: %w", err)
		}
	}
	return nil
}
