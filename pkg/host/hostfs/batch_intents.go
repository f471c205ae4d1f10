package hostfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// StateDir is the directory of the agent's state: the files of package ledger, and the intents of
// batches that are not finished.
const StateDir = "/var/lib/netwright"

// An intent's file is named batch-TOKEN-NUMBER.json, with the token of the process that staged the
// files.
const intentPrefix, intentSuffix = "batch-", ".json"

const intentVersion = 1

// intent lists the files that a batch will put in place. It is written before the first rename.
type intent struct {
	Version int          `json:"version"`
	Files   []intentFile `json:"files"`
}

type intentFile struct {
	Path   string      `json:"path"`
	Staged string      `json:"staged"` // name of the staged file, in the same directory
	Sum    blob.Digest `json:"sum"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
}

// Atomic says that the files of the batch belong together. If a kill or a power cut comes between
// two renames, [Writer.Recover] completes them before any other code reads them. It costs one more
// sync. Archives do not use it, because their programs do not depend on each other.
//
// A program that opens the files one after the other during the renames can still read old and new
// ones: no system call renames several files at once.
func (b *Batch) Atomic() { b.atomic = true }

// announce writes the intent. The staged files must be on the disk, under their staged names.
func (b *Batch) announce() error {
	if !b.atomic || len(b.all) < 2 {
		return nil
	}
	in := intent{Version: intentVersion}
	for _, s := range b.all {
		in.Files = append(in.Files,
			intentFile{path.Join(s.dir.real, s.base), s.temp, s.sum, s.size, s.spec.Mode, s.spec.UID, s.spec.GID})
	}
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode what belongs together: %w", err)
	}
	if _, err := b.w.files.Lstat(StateDir); errors.Is(err, fs.ErrNotExist) {
		if err := b.w.Mkdir(StateDir, 0o700, os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
	}
	b.intent = path.Join(StateDir, intentPrefix+strings.TrimPrefix(b.all[0].temp, stagedPrefix)+intentSuffix)
	return b.w.AppendFile(b.intent, data, 0o600)
}

// conclude removes the intent. If a power cut brings the intent back, it has no effect, because no
// staged file exists any more.
func (b *Batch) conclude() error {
	if b.intent == "" {
		return nil
	}
	return b.w.Remove(b.intent)
}

// Interrupted lists the intents that killed runs left.
func Interrupted(f Files) ([]string, error) {
	names, err := f.ReadDir(StateDir)
	// A process that may not list the directory may not recover either.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	var out []string
	for _, name := range names {
		middle, ok := strings.CutPrefix(name, intentPrefix)
		middle, json := strings.CutSuffix(middle, intentSuffix)
		if token, staged := stagedBy(stagedPrefix + middle); ok && json && staged && token != processToken {
			out = append(out, path.Join(StateDir, name))
		}
	}
	return out, err
}

// Recover completes the batches of [Batch.Atomic] that a killed run left unfinished. It returns how
// many there were. It needs only the files themselves, and may be killed and run again. The caller
// must have the lock of a run, and must call it before any code reads the files or removes staged
// files. If Recover cannot complete a batch, it restores all old files and returns why. It changes
// nothing of a batch whose files it cannot read.
func (w *Writer) Recover(ctx context.Context) (int, error) { return recoverSets(ctx, w, false) }

// RecoverAtBoot is [Writer.Recover] for the time when mounts may still be missing. If neither a
// file nor its staged file exists, the batch is left unchanged, and this is an error.
func RecoverAtBoot(ctx context.Context, w *Writer) (int, error) { return recoverSets(ctx, w, true) }

func recoverSets(ctx context.Context, w *Writer, whole bool) (int, error) {
	list, err := Interrupted(w.files)
	if err != nil {
		return 0, fmt.Errorf("look for files that belong together: %w", err)
	}
	var errs []error
	for _, name := range list {
		if err := context.Cause(ctx); err != nil {
			return 0, fmt.Errorf("complete %s: %w", name, err)
		}
		if err := w.Batch().complete(name, whole); err != nil {
			errs = append(errs, fmt.Errorf("complete the files that belong together, as %s has them: %w", name, err))
		}
	}
	return len(list), errors.Join(errs...)
}

// complete finishes the batch of an intent. If whole, it does nothing while any file and its staged
// file are missing.
func (b *Batch) complete(name string, whole bool) error {
	defer b.Discard()
	data, err := b.w.files.ReadFile(name)
	if err != nil {
		return err
	}
	var in intent
	if json.NewDecoder(bytes.NewReader(data)).Decode(&in) != nil {
		return b.w.Remove(name) // partly written: it was not synced yet, so no file was renamed
	}
	if in.Version != intentVersion {
		return fmt.Errorf("it is of version %d, and this agent knows version %d: run the agent that wrote "+
			"it, or remove it",
			in.Version, intentVersion)
	}
	b.intent = name
	for _, f := range in.Files {
		err := b.resume(f)
		if errors.Is(err, errMissing) && !whole {
			continue
		}
		if err != nil {
			for _, s := range b.all {
				s.temp = "" // the intent still needs the staged files
			}
			return err
		}
	}
	if err := b.publish(); err != nil { // on an error, all files are the old ones again
		return errors.Join(err, b.conclude())
	}
	if err := b.syncDirs(); err != nil {
		return err
	}
	for _, s := range b.all {
		b.w.log.wrote("completed what a killed run had begun", s.name, zap.Int64("bytes", s.size))
	}
	return b.conclude()
}

// errMissing means that neither a file of an intent nor its staged file exists.
var errMissing = errors.New("neither the file nor its staged copy is there; its mount may be missing")

// resume adds a file of an intent to the batch, in the state in which the killed run left it. A
// file that is in place already is not changed again, even if it was changed since.
func (b *Batch) resume(f intentFile) error {
	dir, err := b.dir(path.Dir(f.Path), false)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", f.Path, errMissing)
	}
	if err != nil {
		return hostpath.Explain("open", path.Dir(f.Path), err)
	}
	s := &Staged{dir: dir, name: f.Path, base: path.Base(f.Path), temp: f.Staged, sum: f.Sum, size: f.Size,
		closed: true,
		spec:   FileSpec{Mode: f.Mode, UID: f.UID, GID: f.GID}, state: inPlace}
	fd, err := hostpath.OpenAt(dir.fd, f.Staged, toRead, 0)
	switch err {
	case nil:
		s.file = os.NewFile(uintptr(fd), f.Path)
		s.state = swapped // the staged name has the old file
		if f.at(b.w.files.Strict(), path.Join(dir.name, f.Staged)) && !f.at(b.w.files.Strict(), f.Path) {
			s.state = notPlaced
		}
	case unix.ELOOP: // it replaced a symlink
		s.state = swapped
	case unix.ENOENT:
	default:
		return hostpath.Explain("open", f.Path, err)
	}
	_, err = hostpath.LstatAt(dir.fd, s.base)
	if s.old = err == nil; !s.old && s.state == inPlace {
		return fmt.Errorf("%s: %w", f.Path, errMissing)
	}
	b.all = append(b.all, s)
	return nil
}

// at reports whether the file at name has the content, owner and mode of f.
func (f intentFile) at(v Files, name string) bool {
	info, err := v.Lstat(name)
	if err != nil || info.Type != Regular || info.Size != f.Size || info.Mode != f.Mode || info.UID != f.UID ||
		info.GID != f.GID {
		return false
	}
	sum, err := v.Sum(name)
	return err == nil && sum == f.Sum
}
