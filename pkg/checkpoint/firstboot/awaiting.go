// Package firstboot keeps the record of what acts at the next boot only, and judges that boot by
// how the node is reached: if it is not reached as before, what was there comes back. See
// docs/adr/0020.
package firstboot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostfs/head"
)

// Dir is where the record of what awaits the next boot lives. It is private: it has
// contents of files. No undo of a checkpoint takes it back.
const Dir = hostfs.StateDir + "/awaiting"

const (
	awaitingFile    = Dir + "/index.json"
	awaitingVersion = 1
)

// Awaiting is what acts at the next boot, with how it was before the oldest change that no boot has
// proved. The contents of regular files lie beside it, one file each ([undo.File.Copy]).
type Awaiting struct {
	Version    int           `json:"version"`
	Boot       string        `json:"boot"`              // in which the last of it was changed
	Machine    string        `json:"machine,omitempty"` // whose machine-id; "": an agent wrote it that did not note it
	Since      time.Time     `json:"since,omitzero"`    // when the first of it was
	Right      string        `json:"right,omitempty"`   // the boot in which the books said that all was right last
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"`
	Window     time.Duration `json:"window"`
	Reboot     bool          `json:"reboot,omitempty"` // a boot that fails may be followed by another one
	Reach      probe.Reach   `json:"reach"`
	Keys       []Await       `json:"keys"`
	Files      []undo.File   `json:"files,omitempty"`
	Units      []undo.Unit   `json:"units,omitempty"`
	Around     undo.Packed   `json:"around,omitempty"` // the sysctls of the network, as Reach
	// Judged is the first boot that was not well with it, and Why what was amiss. Restored is the
	// boot in which all of it was brought back, or was about to be, and Rebooted the one that was
	// ended then.
	Judged   string `json:"judged,omitempty"`
	Why      string `json:"why,omitempty"`
	Restored string `json:"restored,omitempty"`
	Rebooted string `json:"rebooted,omitempty"`
}

// Await is a key that a change makes act at the next boot.
type Await struct {
	Key    graph.Key       `json:"key"`
	Files  []string        `json:"files,omitempty"`
	Units  []string        `json:"units,omitempty"`
	Before json.RawMessage `json:"memory,omitempty"` // what was known of the key before, for [Books]
}

// Read returns the record, nil where nothing awaits a boot.
func Read(r host.FileReader) (*Awaiting, error) {
	return read(func(a *Awaiting) error { return head.ReadAll(r, awaitingFile, a) })
}

// Summary is Read for who only tells what awaits a boot: without how the network's sysctls were,
// and without what a boot has shown. A record lies there until the next boot, for months.
func Summary(r head.Reader) (*Awaiting, error) {
	return read(func(a *Awaiting) error { return head.Read(r, awaitingFile, "around", "}", a) })
}

// Awaits says that there is a record.
func Awaits(r hostfs.Files) bool {
	_, err := r.Lstat(awaitingFile)
	return err == nil
}

func read(from func(*Awaiting) error) (*Awaiting, error) {
	a := &Awaiting{}
	err := from(a)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err == nil && a.Version != awaitingVersion {
		err = fmt.Errorf("%s: version %d, and this program reads %d", awaitingFile, a.Version, awaitingVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("read what awaits the next boot: %w: the next change writes it anew", err)
	}
	return a, nil
}

// Names are the files and units that await a boot, for people. Where there is no record, or none
// that can be read, there are none.
func (a *Awaiting) Names() (names []string) {
	if a == nil {
		return nil
	}
	for _, f := range a.Files {
		names = append(names, f.Path)
	}
	for _, u := range a.Units {
		names = append(names, u.Name)
	}
	return names
}

// Save writes down, before a change, what of it acts at the next boot, as its log has it; of a
// fresh record that is nil: nothing does. What an older record has of a path stays: that one is
// older than every change that no boot has proved.
func Save(ctx context.Context, h *host.Host, fresh *Awaiting, was *undo.Log) error {
	if fresh == nil {
		return nil
	}
	a, _ := Read(h.Live.Files) // a damaged one is as good as none
	if len(a.Names()) == 0 {
		a = fresh
	}
	if err := h.Files.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	b := h.Files.Batch()
	defer b.Discard()
	known := map[string]bool{}
	for _, key := range a.Keys {
		known[string(key.Key)] = true
	}
	for _, name := range a.Names() {
		known[name] = true
	}
	for _, await := range fresh.Keys {
		if !known[string(await.Key)] {
			a.Keys = append(a.Keys, await)
		}
		for _, name := range await.Units {
			i := slices.IndexFunc(was.Units, func(u undo.Unit) bool { return u.Name == name })
			if i >= 0 && !known[name] {
				a.Units = append(a.Units, was.Units[i])
			}
		}
		for _, name := range await.Files {
			i := slices.IndexFunc(was.Files, func(f undo.File) bool { return f.Path == name })
			if i < 0 || known[name] {
				continue
			}
			if err := a.add(ctx, h, b, was.Files[i]); err != nil {
				return fmt.Errorf("keep %s for the next boot: %w", name, err)
			}
			known[name] = true // two keys of one file
		}
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	return a.save(ctx, h)
}

// smallPrefix begins the names of small contents in Dir.
const smallPrefix = "content-"

// awaitingFileOf is where the content of a path lies.
func awaitingFileOf(prefix, name string) string {
	return path.Join(Dir, fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(name))))
}

// LargeName is where that of a large one does: another name of the file.
func LargeName(name string) string { return awaitingFileOf("file-", name) }

// add keeps a file as it is, which the journal has too: a small one from there, a large one by
// another name.
func (a *Awaiting) add(ctx context.Context, h *host.Host, b *hostfs.Batch, f undo.File) error {
	if f.Type == hostfs.Regular {
		content, kept := f.Content, f.Copy
		f.Content, f.Copy = nil, LargeName(f.Path)
		var err error
		if kept == "" {
			f.Copy = awaitingFileOf(smallPrefix, f.Path)
			err = b.Put(f.Copy, content, hostfs.FileSpec{Mode: 0o600})
		} else {
			_, err = h.Files.Retain(ctx, kept, f.Copy, f.Path)
		}
		if err != nil {
			return err
		}
	}
	a.Files = append(a.Files, f)
	return nil
}

// originals are the files as a journal has them. A small one comes back by its content: as another
// name of what was kept it would have the label of that place.
func (a *Awaiting) originals(h *host.Host) (list []undo.File, err error) {
	for _, f := range a.Files {
		if strings.HasPrefix(path.Base(f.Copy), smallPrefix) {
			content, failed := h.Live.Files.ReadFile(f.Copy)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("bring %s back: %w", f.Path, failed))
				continue
			}
			f.Content, f.Copy = content, ""
		}
		list = append(list, f)
	}
	return list, err
}

// Prove takes down, after a change whose probes pass, how the node is reached: that is what the
// next boot is measured by. What the change did not alter after all awaits nothing. Where fresh is
// nil, what awaits is of an earlier change. sysctls are those of the network now.
func Prove(
	ctx context.Context, n probe.Prober, fresh *Awaiting, passed []probe.Probe, sysctls func() (undo.Packed, error),
) error {
	was, err := Read(n.Host.Live.Files)
	if was == nil || err != nil {
		return nil // a damaged one is said where it is read at the boot
	}
	a := was
	if fresh != nil {
		a = fresh
		a.Since, a.Keys, a.Files, a.Units = was.Since, was.Keys, was.Files, was.Units
	}
	if a.Reach, err = n.Reach(ctx, passed); err != nil {
		return err
	}
	if a.Around, err = sysctls(); err != nil {
		return err
	}
	return a.update(ctx, n.Host)
}

// Trim takes out of the record what is as it was before: after an undo that is all of the
// change. Contents that were kept for a record which was never written go, too.
func Trim(ctx context.Context, h *host.Host) error {
	a, err := Read(h.Live.Files)
	switch {
	case err != nil:
		return nil // as above
	case a == nil:
		return h.Files.RemoveTree(ctx, Dir)
	}
	return a.update(ctx, h)
}

// update takes out what is as it was before, and writes down what is left. Of nothing the record
// goes.
func (a *Awaiting) update(ctx context.Context, h *host.Host) error {
	a.Files = slices.DeleteFunc(a.Files, func(f undo.File) bool { return fileIsBack(h, f) })
	a.Units = slices.DeleteFunc(a.Units, func(u undo.Unit) bool { return unitIsBack(ctx, h, u) })
	left := map[string]bool{}
	for _, name := range a.Names() {
		left[name] = true
	}
	a.Keys = slices.DeleteFunc(a.Keys, func(k Await) bool {
		return !slices.ContainsFunc(slices.Concat(k.Files, k.Units), func(name string) bool { return left[name] })
	})
	if len(left) == 0 {
		return a.drop(ctx, h)
	}
	return a.save(ctx, h)
}

// fileIsBack says that a path is again what the record has of it. A directory that came awaits
// nothing: an empty one says nothing to anybody.
func fileIsBack(h *host.Host, f undo.File) bool {
	now, err := h.Live.Files.Lstat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Type == ""
	}
	if err != nil || now.Type != f.Type {
		return err == nil && f.Type == "" && now.Type == hostfs.Directory
	}
	same := now.Mode == f.Mode && now.UID == f.UID && now.GID == f.GID
	switch f.Type {
	case hostfs.Symlink:
		target, err := h.Live.Files.Readlink(f.Path)
		return err == nil && target == f.Target
	case hostfs.Regular:
		was, err := h.Live.Files.Sum(f.Copy)
		if err != nil || !same {
			return false
		}
		is, err := h.Live.Files.Sum(f.Path)
		return err == nil && is == was
	}
	return same
}

// unitIsBack says that a unit is enabled, masked or neither, as before.
func unitIsBack(ctx context.Context, h *host.Host, u undo.Unit) bool {
	now, err := h.Live.Units.Unit(ctx, u.Name)
	return err == nil && now.File == u.File
}

// isBack says that all of it is as it was before.
func (a *Awaiting) isBack(ctx context.Context, h *host.Host) bool {
	return !slices.ContainsFunc(a.Files, func(f undo.File) bool { return !fileIsBack(h, f) }) &&
		!slices.ContainsFunc(a.Units, func(u undo.Unit) bool { return !unitIsBack(ctx, h, u) })
}

// save replaces the index, durably, and takes away contents that it no more names.
func (a *Awaiting) save(ctx context.Context, h *host.Host) error {
	a.Version = awaitingVersion
	if err := undo.Save(ctx, h, awaitingFile, a); err != nil {
		return err
	}
	names, err := h.Live.Files.ReadDir(Dir)
	if err != nil {
		return err
	}
	kept := map[string]bool{awaitingFile: true}
	for _, f := range a.Files {
		kept[f.Copy] = true
	}
	var errs []error
	for _, name := range names {
		if file := path.Join(Dir, name); !kept[file] {
			errs = append(errs, h.Files.Remove(file))
		}
	}
	return errors.Join(errs...)
}

// drop ends the record. It is emptied first: killed after that, the next boot, or whoever looks
// before, ends it, and no content is left that nobody names.
func (a *Awaiting) drop(ctx context.Context, h *host.Host) error {
	empty := Awaiting{Boot: a.Boot}
	_ = empty.save(ctx, h) // without room for it the record ends all the same
	if err := h.Files.RemoveDurably(awaitingFile); err != nil {
		return fmt.Errorf("end the record of what awaits a boot: %w", err)
	}
	return h.Files.RemoveTree(ctx, Dir)
}
