package tasks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// anyPath reads, removes and restores a path, for all kinds of tasks.
type anyPath string

var (
	_ Remover  = anyPath("")
	_ Restorer = anyPath("")
)

// Live implements [StateReader]. For a directory it returns owner and mode: the contents have keys
// of their own.
func (p anyPath) Live(_ context.Context, v host.View) (string, error) {
	info, there, err := lstat(v, string(p))
	if err != nil || !there {
		return "", err
	}
	switch info.Type {
	case hostfs.Symlink:
		target, err := v.Files.Readlink(string(p))
		if !utf8.ValidString(target) { // JSON would have the same text for another target
			target = strconv.Quote(target)
		}
		return "symlink " + target, err
	case hostfs.Regular:
		sum, err := v.Files.SumOf(string(p), info)
		return fmt.Sprintf("file %s %d:%d %s", octal(info.Mode), info.UID, info.GID, sum), err
	case hostfs.Directory:
		if info.Mounted {
			return covered, nil
		}
	case hostfs.Other:
	}
	return fmt.Sprintf("%s %s %d:%d", info.Type, octal(info.Mode), info.UID, info.GID), nil
}

// covered describes a directory under a mount point, where owner and mode are those of the mounted
// file system.
const covered = "directory under a mount"

// as reports whether a path is as the agent left it. For a directory that was under a mount only
// the type is compared.
func as(live, last string) bool {
	return live == last || last == covered && strings.HasPrefix(live, "directory ")
}

// Remove implements [Remover]. A directory that is not empty stays. A unit is disabled before its
// file is removed, so that no link of systemd is left without a target.
func (p anyPath) Remove(ctx context.Context, h *host.Host) error {
	if name := p.unit(); name != "" {
		if err := h.Units.DisableUnit(ctx, name); err != nil && !errors.Is(err, host.ErrNoLiveState) &&
			!errors.Is(err, host.ErrNotExist) {
			return err
		}
	}
	return h.Files.Remove(string(p))
}

// unitTypes are the suffixes of unit files.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html
var unitTypes = []string{".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path",
	".timer", ".slice", ".scope"}

// unit returns the name of the unit whose file the path is; "": it is none.
func (p anyPath) unit() string {
	if path.Dir(string(p)) != unitDir || !slices.Contains(unitTypes, path.Ext(string(p))) {
		return ""
	}
	return path.Base(string(p))
}

// pathBaseline is the metadata of a path.
type pathBaseline struct {
	Type   hostfs.FileType `json:"type"`
	Mode   fs.FileMode     `json:"mode"`
	UID    int             `json:"uid"`
	GID    int             `json:"gid"`
	Mtime  int64           `json:"mtime"` // nanoseconds since the epoch
	Target string          `json:"target,omitempty"`
	// RawTarget is the target where it is not valid UTF-8, which JSON cannot contain.
	RawTarget []byte     `json:"rawTarget,omitempty"`
	Attrs     attributes `json:"attrs,omitempty"`
}

// attributes are extended attributes by name.
type attributes map[string][]byte

// Baseline implements [Restorer].
func (p anyPath) Baseline(ctx context.Context, v host.View) (b Baseline, err error) {
	if b.Live, err = p.Live(ctx, v); err != nil || b.Live == "" {
		return b, err
	}
	at := v.Files.Strict() // not a file behind a symlink, or with other hard links
	info, err := at.Lstat(string(p))
	if err != nil {
		return b, err
	}
	data := pathBaseline{Type: info.Type, Mode: info.Mode, UID: info.UID, GID: info.GID, Mtime: info.Mtime}
	switch info.Type {
	case hostfs.Symlink:
		if data.Target, err = at.Readlink(string(p)); !utf8.ValidString(data.Target) {
			data.RawTarget = []byte(data.Target)
		}
	case hostfs.Regular:
		if info.Size > hostfs.MaxReadFile {
			b.Lost = fmt.Sprintf("its former content (%d MiB) was too large to keep", info.Size>>20)
		} else if b.Content, err = at.ReadFile(string(p)); err == nil {
			sum := blob.Digest(sha256.Sum256(b.Content))
			b.Blob, b.Content = &sum, bytes.Clone(b.Content)
		}
	case hostfs.Other:
		b.Lost = "it was neither file nor directory"
	case hostfs.Directory:
	}
	if err != nil {
		return b, err
	}
	if data.Attrs, err = at.Attributes(string(p)); err != nil {
		return b, err
	}
	b.Data, err = json.Marshal(data)
	return b, err
}

// Restored implements [Restorer]. The mtime of a directory is not compared, because each change in
// it changes the mtime: [hostfs.Writer.SetMtime] sets it last.
func (p anyPath) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	if same, err := alive(ctx, v, p, b); err != nil || !same || b.Live == "" {
		return same, err
	}
	return p.untouched(v, b)
}

// untouched reports whether mtime and extended attributes are those of the baseline.
func (p anyPath) untouched(v host.View, b Baseline) (bool, error) {
	var was pathBaseline
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return false, fmt.Errorf("read the baseline of %s: %w", p, err)
	}
	info, err := v.Files.Lstat(string(p))
	if err != nil || info.Mtime != was.Mtime && was.Type != hostfs.Directory {
		return false, err
	}
	have, err := v.Files.Attributes(string(p))
	for name, value := range was.Attrs {
		// SELinux sets labels by its policy, and the agent may not; only earlier releases recorded
		// trusted ones
		if name != "security.selinux" && !strings.HasPrefix(name, "trusted.") && !bytes.Equal(have[name], value) {
			return false, err
		}
	}
	return err == nil, err
}

// Restore implements [Restorer]: content, owner, mode, extended attributes and mtime. For a file it
// is one step, so that a kill leaves no part of it.
func (p anyPath) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	if b.Live == "" {
		return p.Remove(ctx, h)
	}
	var was pathBaseline
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore %s: %w", p, err)
	}
	spec := hostfs.FileSpec{Mode: was.Mode, UID: was.UID, GID: was.GID}
	switch was.Type {
	case hostfs.Symlink:
		if info, there, err := lstat(h.Live.View(), string(p)); err == nil && there && info.Type == hostfs.Regular {
			if err := h.Files.Remove(string(p)); err != nil {
				return err
			}
		}
		if err := h.Files.Symlink(string(p), cmp.Or(string(was.RawTarget), was.Target)); err != nil {
			return err
		}
		return h.Files.SetMtime(string(p), was.Mtime)
	case hostfs.Regular:
		if b.Blob == nil {
			return fmt.Errorf("restore %s: its former content was not kept: restore it by hand", p)
		}
		at := h.Live.Files.Strict()
		info, err := at.Lstat(string(p))
		if now, failed := at.Sum(string(p)); err != nil || failed != nil || now != *b.Blob {
			spec.Attrs, spec.Mtime = was.Attrs, &was.Mtime
			return h.Files.WriteFile(ctx, string(p), b.Content, spec)
		}
		if err := h.Files.SetMeta(string(p), info, spec); err != nil {
			return err
		}
	case hostfs.Directory:
		if err := h.Files.Mkdir(string(p), was.Mode, was.UID, was.GID); err != nil {
			return err
		}
	case hostfs.Other:
		return fmt.Errorf("restore %s: it was neither file nor directory: create it again by hand", p)
	}
	if err := h.Files.SetAttributes(string(p), was.Attrs); err != nil {
		return err
	}
	return h.Files.SetMtime(string(p), was.Mtime)
}
