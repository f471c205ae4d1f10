// Package firstboot records the changes that act only at the next boot, and judges that boot: if
// others cannot reach the node as before, it restores the state before the changes. See
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

// Dir is the directory of the record. Only root may read it, because it has contents of files. The
// undo of a checkpoint does not restore it.
const Dir = hostfs.StateDir + "/awaiting"

const (
	awaitingFile    = Dir + "/index.json"
	awaitingVersion = 1
)

// Awaiting is the record of what acts at the next boot. It has the state before the oldest change
// that no boot has proved. The contents of regular files are in Dir, one file each
// ([undo.File.Copy]).
type Awaiting struct {
	Version int    `json:"version"`
	Boot    string `json:"boot"` // boot of the last change
	// machine-id; "" if an agent wrote the record that did not note it
	Machine    string        `json:"machine,omitempty"`
	Since      time.Time     `json:"since,omitzero"`  // time of the first change
	Right      string        `json:"right,omitempty"` // boot in which everything was right last, by the ledger
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"`
	Window     time.Duration `json:"window"`
	Reboot     bool          `json:"reboot,omitempty"` // one more boot may follow a boot that fails
	Reach      probe.Reach   `json:"reach"`
	Keys       []Await       `json:"keys"`
	Files      []undo.File   `json:"files,omitempty"`
	Units      []undo.Unit   `json:"units,omitempty"`
	Around     undo.Packed   `json:"around,omitempty"` // the sysctls of the network when Reach was recorded
	// Judged is the first boot that failed, and Why the reason. Restored is the boot in which all
	// of it was or was about to be restored. Rebooted is the boot that was ended then.
	Judged   string `json:"judged,omitempty"`
	Why      string `json:"why,omitempty"`
	Restored string `json:"restored,omitempty"`
	Rebooted string `json:"rebooted,omitempty"`
}

// Await is a key of a change that acts at the next boot.
type Await struct {
	Key    graph.Key       `json:"key"`
	Files  []string        `json:"files,omitempty"`
	Units  []string        `json:"units,omitempty"`
	Before json.RawMessage `json:"memory,omitempty"` // what the ledger said of the key before, for [Books]
}

// Read returns the record, or nil if nothing awaits a boot.
func Read(r host.FileReader) (*Awaiting, error) {
	return read(func(a *Awaiting) error { return head.ReadAll(r, awaitingFile, a) })
}

// Summary does what Read does for callers that only show the record. It omits the sysctls and the
// result of a boot. A record may exist for months, until the next boot. Summary returns nil for a
// damaged record, which the boot reports.
func Summary(r head.Reader) *Awaiting {
	a, _ := read(func(a *Awaiting) error { return head.Read(r, awaitingFile, "around", "}", a) })
	return a
}

// Awaits reports whether there is a record.
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
		return nil, fmt.Errorf("read the record of changes that act at the next boot: %w: the next change "+
			"writes it again", err)
	}
	return a, nil
}

// Names returns the files and units of the record, for people. It returns none for a nil record.
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

// Save records, before a change, those of its files and units that act at the next boot, with their
// state in was. fresh is the record of this change, or nil if nothing of it acts at the next boot.
// The state of a path in an older record stays, because that is the state before every change that
// no boot has proved.
func Save(ctx context.Context, h *host.Host, fresh *Awaiting, was *undo.Log) error {
	if fresh == nil {
		return nil
	}
	a, _ := Read(h.Live.Files) // a damaged record counts as none
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
			known[name] = true // two keys may have the same file
		}
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	return a.save(ctx, h)
}

// smallPrefix begins the names of small contents in Dir.
const smallPrefix = "content-"

// awaitingFileOf returns the file for the content of a path.
func awaitingFileOf(prefix, name string) string {
	return path.Join(Dir, fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(name))))
}

// LargeName returns the file for a large content, which is a second name of the original file.
func LargeName(name string) string { return awaitingFileOf("file-", name) }

// add saves the present state of a file, which the journal has too. It saves a small content from
// the journal, and gives a large file a second name.
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

// originals returns the files in the form of a journal. A small file is restored from its content,
// and not as a second name of the saved file, because that has the SELinux label of Dir.
func (a *Awaiting) originals(h *host.Host) (list []undo.File, err error) {
	for _, f := range a.Files {
		if strings.HasPrefix(path.Base(f.Copy), smallPrefix) {
			content, failed := h.Live.Files.ReadFile(f.Copy)
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("restore %s: %w", f.Path, failed))
				continue
			}
			f.Content, f.Copy = content, ""
		}
		list = append(list, f)
	}
	return list, err
}

// Prove records how others reach the node, after a change whose probes pass. The next boot is
// compared with this. It removes from the record what the change did not alter. If fresh is nil,
// the record is of an earlier change. sysctls returns the present sysctls of the network.
func Prove(
	ctx context.Context, n probe.Prober, fresh *Awaiting, passed []probe.Probe, sysctls func() (undo.Packed, error),
) error {
	was, err := Read(n.Host.Live.Files)
	if was == nil || err != nil {
		return nil // a damaged record is reported at the boot
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

// Trim removes from the record what is again as before: after an undo that is the whole change. It
// also removes contents that were saved for a record that was never written.
func Trim(ctx context.Context, h *host.Host) error {
	a, err := Read(h.Live.Files)
	switch {
	case err != nil:
		return nil // see Prove
	case a == nil:
		return h.Files.RemoveTree(ctx, Dir)
	}
	return a.update(ctx, h)
}

// update removes what is again as before, and saves the rest. It removes an empty record.
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

// fileIsBack reports whether a path is again as the record has it. A directory that the change
// created counts as back, because an empty directory has no effect.
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

// unitIsBack reports whether a unit is enabled, masked or neither, as before.
func unitIsBack(ctx context.Context, h *host.Host, u undo.Unit) bool {
	now, err := h.Live.Units.Unit(ctx, u.Name)
	return err == nil && now.File == u.File
}

// isBack reports whether everything is as it was before.
func (a *Awaiting) isBack(ctx context.Context, h *host.Host) bool {
	return !slices.ContainsFunc(a.Files, func(f undo.File) bool { return !fileIsBack(h, f) }) &&
		!slices.ContainsFunc(a.Units, func(u undo.Unit) bool { return !unitIsBack(ctx, h, u) })
}

// save replaces the index durably, and removes contents that it does not name.
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

// drop removes the record. It empties the record first. If it is killed after that, no content is
// left without a name, and the next boot or the next caller removes the record.
func (a *Awaiting) drop(ctx context.Context, h *host.Host) error {
	empty := Awaiting{Boot: a.Boot}
	_ = empty.save(ctx, h) // if the disk is full, the record is removed all the same
	if err := h.Files.RemoveDurably(awaitingFile); err != nil {
		return fmt.Errorf("end the record of what awaits a boot: %w", err)
	}
	return h.Files.RemoveTree(ctx, Dir)
}
