package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// restore brings everything back to what the journal says. It goes on after an
// error; it may be killed and called again at any point. After a reboot
// only what is on disk is brought back, links of units too: the kernel's state is of the new boot.
func (j *Journal) restore(ctx context.Context, h *host.Host) error {
	booted := j.Boot != bootID(h)
	around := j.around()
	errs := []error{j.restoreFiles(ctx, h), j.restoreOwn(ctx, h, booted), j.restoreUnits(ctx, h, booted)}
	j.left = around.restoreUnits(ctx, h, j.Units, booted)
	if booted {
		return errors.Join(errs...)
	}
	if late := j.steady(); late > 0 {
		// Units of the network act on the files that came back, and set sysctls and routes to what these say, when systemd has long called them reloaded.
		_, _ = j.restoreKernel(ctx, h, around) // it is done again
		select {
		case <-ctx.Done():
		case <-time.After(late):
		}
	}
	left, err := j.restoreKernel(ctx, h, around)
	if j.setUp(ctx, h) {
		left, err = j.restoreKernel(ctx, h, around) // what the managers of links took for theirs
	}
	j.left = append(j.left, left...)
	return errors.Join(append(errs, err)...)
}

// restoreKernel brings back what the kernel has: sysctls, nft tables, links, addresses, routes and rules. left is what programs did and nobody could take back.
func (j *Journal) restoreKernel(ctx context.Context, h *host.Host, around *surroundings) (left []string, err error) {
	var errs []error
	_ = j.restoreSysctls(ctx, h) // what the network needs; some want links as they were, and come at the end
	for _, t := range j.Tables {
		if t.Was == nil {
			errs = append(errs, h.DelTable(ctx, t.Family, t.Name))
		} else {
			errs = append(errs, h.ReplaceTable(ctx, *t.Was))
		}
	}
	for _, link := range j.Forward {
		errs = append(errs, h.DelForwardAccept(ctx, link))
	}
	if around != nil {
		around.restoreSysctls(ctx, h)
		left = around.restoreNetwork(ctx, h, j.Net)
	}
	if j.Net != nil {
		// IPv6 addresses that went with their link's IPv6 come back a moment after it.
		errs = append(errs, again(ctx, func() error { return h.RestoreNet(ctx, *j.Net, j.Made) }))
	}
	errs = append(errs, j.restoreSysctls(ctx, h)) // of links that were gone or had another MTU, and what another key's write set
	if around != nil {
		left = append(left, around.restoreSysctls(ctx, h)...)
	}
	errs = append(errs, h.ForgetNeighbours(ctx))
	if around != nil {
		left = append(left, around.lost(ctx, h, j.Net)...)
	}
	return left, errors.Join(errs...)
}

// again tries a few times.
func again(ctx context.Context, f func() error) (err error) {
	for range 5 {
		if err = f(); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// restoreFiles puts what was there back in one batch, and removes what was
// not, in reverse order: a directory after what is in it.
func (j *Journal) restoreFiles(ctx context.Context, h *host.Host) error {
	var errs []error
	h.ClearLeftovers(j.directories()) // of an undo that was killed with all of its files in place, too
	b := h.Batch()
	defer b.Discard()
	for _, f := range j.Files {
		spec := host.FileSpec{Mode: f.Mode, UID: f.UID, GID: f.GID}
		var err error
		switch {
		case f.Kept != "":
			if err = h.Keep(ctx, f.Kept, f.Path); err == nil {
				err = h.SetMeta(f.Path, spec)
			}
		case f.Type == host.Regular && f.same(h):
			err = h.SetMeta(f.Path, spec)
		case f.Type == host.Regular:
			err = b.Put(f.Path, f.Content, spec)
		case f.Type == host.Directory:
			err = h.Mkdir(f.Path, f.Mode, f.UID, f.GID)
		case f.Type == host.Symlink:
			if info, e := h.Lstat(f.Path); e == nil && info.Type == host.Regular {
				err = h.Remove(f.Path)
			}
			err = errors.Join(err, h.Symlink(f.Path, f.Target))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("bring %s back: %w", f.Path, err))
		}
	}
	errs = append(errs, b.Commit(ctx))
	for _, f := range slices.Backward(j.Files) {
		if f.Type != "" {
			continue
		}
		if info, err := h.Lstat(f.Path); err != nil || info.Type == host.Directory && holds(h, f.Path) {
			continue // somebody uses the directory by now
		}
		errs = append(errs, h.Remove(f.Path))
	}
	return errors.Join(append(errs, h.SyncDirs(j.directories()...))...)
}

// directories are those that the files are in.
func (j *Journal) directories() (dirs []string) {
	for _, f := range j.Files {
		dirs = append(dirs, path.Dir(f.Path))
	}
	return dirs
}

func (f File) same(h *host.Host) bool {
	info, err := h.Lstat(f.Path)
	if err != nil || info.Type != host.Regular || info.Size != int64(len(f.Content)) {
		return false
	}
	content, err := h.ReadFile(f.Path)
	return err == nil && string(content) == string(f.Content)
}

func holds(h *host.Host, dir string) bool {
	names, err := h.ReadDir(dir)
	return err != nil || len(names) > 0
}

// restoreSysctls writes what differs, in the order in which the keys were
// read, until nothing differs: some writes change other keys. Of a link that went nothing is said.
func (j *Journal) restoreSysctls(ctx context.Context, h *host.Host) error {
	var errs []error
	for range 3 {
		errs = nil
		for _, s := range j.Sysctls {
			if now, err := h.Sysctl(s.Key); err != nil || host.SameSysctl(s.Key, now, s.Value) {
				continue
			}
			errs = append(errs, h.SetSysctl(ctx, s.Key, s.Value))
		}
		if len(errs) == 0 {
			return nil
		}
	}
	return errors.Join(errs...)
}
