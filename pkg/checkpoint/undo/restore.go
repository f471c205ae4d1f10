package undo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	hostkernel "github.com/netwright/netwright/pkg/host/kernel"
)

// Reversal restores everything in a log. Each method continues after an error. It may be killed at
// any point and called again.
type Reversal struct {
	Host   *host.Host
	Log    *Log
	Booted bool     // the machine has booted since, so the kernel's state is new
	Left   []string // what could not be restored
	// Waits means that another undo follows. Then a file whose mount is missing is an error, and is
	// restored by that undo.
	Waits bool

	around  *surroundings
	missing []string // mounts of the log that are missing
}

// Restore returns a Reversal.
func Restore(h *host.Host, l *Log, booted bool) *Reversal {
	return &Reversal{Host: h, Log: l, Booted: booted, around: l.Around.unpack()}
}

// Kernel restores the kernel's state: sysctls, nft tables, links, addresses, routes and rules. left
// names effects of programs that could not be undone.
func (r *Reversal) Kernel(ctx context.Context) (left []string, err error) {
	var errs []error
	h, l, around := r.Host, r.Log, r.around
	_ = r.sysctls(ctx) // what the network needs; some sysctls need restored links, and follow at the end
	for _, t := range l.Tables {
		if t.Was == nil {
			errs = append(errs, h.Firewall.DelTable(ctx, t.Family, t.Name))
		} else {
			errs = append(errs, h.Firewall.ReplaceTable(ctx, *t.Was))
		}
	}
	for _, link := range l.Forward {
		errs = append(errs, h.Firewall.DelForwardAccept(ctx, link))
	}
	if around != nil {
		around.restoreSysctls(ctx, h)
		left = around.restoreNetwork(ctx, h, l.Net)
	}
	if l.Net != nil {
		// The kernel adds the IPv6 addresses of a link a moment after its IPv6 is enabled again.
		errs = append(errs, again(ctx, func() error { return h.NetState.Restore(ctx, *l.Net, l.Made) }))
	}
	// sysctls of links that were gone or had another MTU, and sysctls that the kernel changed with
	// others
	errs = append(errs, r.sysctls(ctx))
	if around != nil {
		left = append(left, around.restoreSysctls(ctx, h)...)
	}
	errs = append(errs, h.Net.ForgetNeighbours(ctx))
	if around != nil {
		left = append(left, around.lost(ctx, h, l.Net)...)
	}
	return left, errors.Join(errs...)
}

// PutOthersBehind calls PutOthersBehind of [netstate.Writer]. The caller calls it after
// [Reversal.Kernel].
func (r *Reversal) PutOthersBehind(ctx context.Context) error {
	if r.Log.Net == nil {
		return nil
	}
	return again(ctx, func() error { return r.Host.NetState.PutOthersBehind(ctx, *r.Log.Net) })
}

// Files restores the files in one batch. Then it removes those that did not exist, in reverse
// order, so that a directory follows its content. If another program has put something in the way,
// Files leaves that and adds it to Left: more attempts would block the node as long as the obstacle
// stays.
func (r *Reversal) Files(ctx context.Context) error {
	h := r.Host
	r.awaitReaders(ctx)
	for _, dir := range r.Log.Mounts {
		if r.Booted && !isMount(h.Live.Files, dir) {
			r.missing = append(r.missing, dir)
		}
	}
	var dirs []string
	for _, f := range r.Log.Files {
		dirs = append(dirs, path.Dir(f.Path))
	}
	h.Files.RemoveStale(dirs) // also those of an undo that was killed after it had restored all files
	errs := r.restoreFiles(ctx)
	errs = append(errs, r.removeNewFiles()...)
	return errors.Join(append(errs, h.Files.SyncDirs(dirs...))...)
}

// restoreFiles restores the files that there were, with their content and attributes.
func (r *Reversal) restoreFiles(ctx context.Context) (errs []error) {
	b := r.Host.Files.Batch()
	defer b.Discard()
	for _, f := range r.Log.Files {
		err := r.mounted(f.Path)
		if err == nil {
			err = f.restore(ctx, r.Host, b)
		}
		less, privileged := f.unprivileged()
		if privileged && errors.Is(err, unix.EPERM) && less.restore(ctx, r.Host, b) == nil {
			r.Left = append(r.Left, "file capabilities or set-ID bits of "+f.Path+" (setcap, chmod)")
			err = nil
		}
		errs = append(errs, r.unrestored(f.Path, err))
	}
	return append(errs, b.Commit(ctx))
}

// removeNewFiles removes the files that there were not.
func (r *Reversal) removeNewFiles() (errs []error) {
	at := r.Host.Live.Files.Strict()
	for _, f := range slices.Backward(r.Log.Files) {
		if f.Type != "" || r.mounted(f.Path) != nil {
			continue
		}
		info, err := at.Lstat(f.Path)
		if hostpath.IsMissing(err) || err == nil && info.Type == hostfs.Directory && hasEntries(at, f.Path) {
			continue // another program uses the directory now
		}
		if err == nil {
			err = r.Host.Files.Remove(f.Path)
		}
		errs = append(errs, r.unrestored(f.Path, err))
	}
	return errs
}

// unrestored returns the error of a file that another attempt may restore. What no attempt can
// restore it adds to r.Left.
func (r *Reversal) unrestored(name string, err error) error {
	var link *hostpath.LinkError
	var other *hostpath.InTheWayError
	switch {
	case err == nil:
	case errors.Is(err, errUnmounted) && !r.Waits:
		r.Left = append(r.Left, name+": "+err.Error())
	case errors.As(err, &link): // it blocks everything below it
		if !slices.Contains(r.Left, link.Error()) {
			r.Left = append(r.Left, link.Error())
		}
	case errors.As(err, &other):
		r.Left = append(r.Left, other.Error())
	case fixed(r.Host.Live.Files.Removable(name)):
		r.Left = append(r.Left, err.Error())
	default:
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return nil
}

// fixed reports whether a path is immutable, or a file is mounted on it.
func fixed(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EBUSY) }

// errUnmounted is the error for a file whose mount is missing after a boot: a write would go below
// the mount point. The mount of a file server comes after the network, and so after an undo at
// boot.
var errUnmounted = errors.New("what was mounted there before the change is missing")

// mounted returns an error if the mount of a path is missing.
func (r *Reversal) mounted(name string) error {
	for _, dir := range r.missing {
		if strings.HasPrefix(name+"/", dir+"/") {
			return fmt.Errorf("%s: %w", dir, errUnmounted)
		}
	}
	return nil
}

// isMount reports whether a directory is the mount point of another file system. A bind mount of
// the same file system is local, and is mounted before an undo at boot.
func isMount(files *hostfs.Reader, dir string) bool {
	info, err := files.Stat(dir)
	above, errAbove := files.Stat(path.Dir(dir))
	return err == nil && errAbove == nil && info.Type == hostfs.Directory && info.Dev != above.Dev
}

// restore restores a path that existed. It adds a regular file to the batch.
func (f File) restore(ctx context.Context, h *host.Host, b *hostfs.Batch) error {
	spec := hostfs.FileSpec{Mode: f.Mode, UID: f.UID, GID: f.GID, Attrs: f.Attrs}
	switch f.Type {
	case hostfs.Regular:
		if f.Copy != "" {
			return h.Files.Restore(ctx, f.Copy, f.Path, spec)
		}
		if now, err := h.Live.Files.Capture(f.Path,
			int64(len(f.Content))); err == nil && now.Type == hostfs.Regular && now.Size == int64(len(f.Content)) &&
			bytes.Equal(now.Content, f.Content) {
			return h.Files.SetMeta(f.Path, now.FileInfo, spec)
		}
		if err := h.Live.Files.Writable(f.Path, -1); err != nil { // a failing file would end the whole batch
			return err
		}
		return b.Put(f.Path, f.Content, spec)
	case hostfs.Directory:
		if err := h.Files.Mkdir(f.Path, f.Mode, f.UID, f.GID); err != nil {
			return err
		}
		return h.Files.SetAttributes(f.Path, f.Attrs)
	case hostfs.Symlink:
		if info, err := h.Live.Files.Strict().Lstat(f.Path); err == nil && info.Type == hostfs.Regular {
			if err := h.Files.Remove(f.Path); err != nil {
				return err
			}
		}
		return h.Files.Symlink(f.Path, cmp.Or(string(f.RawTarget), f.Target))
	}
	return nil
}

// sysctls writes the sysctls that differ, in the order of their capture. It repeats that, because
// some writes change other sysctls. It ignores sysctls of links that are gone.
func (r *Reversal) sysctls(ctx context.Context) error {
	var errs []error
	for range 3 {
		errs = nil
		for _, s := range r.Log.Sysctls {
			if now, err := r.Host.Live.Kernel.Sysctl(s.Key); err != nil || hostkernel.SameSysctl(s.Key, now, s.Value) {
				continue
			}
			errs = append(errs, r.Host.Kernel.SetSysctl(ctx, s.Key, s.Value))
		}
		if len(errs) == 0 {
			return nil
		}
	}
	return errors.Join(errs...)
}

func hasEntries(at hostfs.Files, dir string) bool {
	names, err := at.ReadDir(dir)
	return err != nil || len(names) > 0
}
