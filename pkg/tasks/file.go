package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/secret"
)

// File is a regular file with its complete content.
type File struct {
	Meta
	Path    string
	Content secret.Bytes `json:",omitempty"`
	// Stored, if set, is used instead of Content. Its bytes stay where they are stored until the
	// task needs them.
	Stored *blob.Content `json:"-"`
	Mode   fs.FileMode
	Owner  string
}

var _ Task = File{}

// content returns the wanted content.
func (t File) content() blob.Content {
	if t.Stored != nil {
		return *t.Stored
	}
	return blob.Of(t.Content)
}

// bytes returns the bytes of the content. The error is transient: the store may have changed or may
// be away for now.
func (t File) bytes() ([]byte, error) {
	if t.Stored == nil {
		return t.Content, nil
	}
	b, err := t.Stored.Bytes()
	if err != nil {
		return nil, graph.Transient(fmt.Errorf("get its content: %w", err))
	}
	return b, nil
}

// Owns implements [Task].
func (t File) Owns() []graph.Key { return []graph.Key{FileKey(t.Path)} }

// Plan implements [Task].
func (t File) Plan(_ context.Context, v host.View) (*Change, error) {
	item, want, err := t.look(v)
	if err != nil {
		return nil, fmt.Errorf("plan file %s: %w", t.Path, err)
	}
	if item == nil {
		return nil, nil
	}
	reason, items := "absent", []Item(nil)
	if item.Op == Update {
		reason = differs(item.Fields)
	} else if items, err = missingParents(v, t.Path); err != nil {
		return nil, fmt.Errorf("plan file %s: %w", t.Path, err)
	}
	change := t.change(append(items, *item), reason, fileFact(t.Path, want.info(hostfs.Regular, t.content().Size)))
	if NetworkFile(t.Path) {
		change.Disruption = MayCutOff
	}
	return change, nil
}

// Apply implements [Task]. Where only the owner or the mode differs the file keeps its inode, so
// that programs that watch it need not read it again. A file with other hard links is replaced,
// because the other names may not be the agent's.
func (t File) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	want, err := resolveAccess(h.Live.View(), t.Mode, t.Owner)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Path, err)
	}
	info, there, err := lstat(h.Live.View(), t.Path)
	if err == nil && there && info.Type == hostfs.Regular && info.Links == 1 {
		var same bool
		if same, err = t.hasContent(h.Live.View(), info); err == nil && same {
			return h.Files.SetMeta(t.Path, info, want.spec())
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Path, err)
	}
	content, err := t.bytes()
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Path, err)
	}
	return h.Files.WriteFile(ctx, t.Path, content, want.spec())
}

// look returns the difference between the wanted file and the path; nil: there is none.
func (t File) look(v host.View) (*Item, access, error) {
	want, err := resolveAccess(v, t.Mode, t.Owner)
	if err != nil {
		return nil, want, err
	}
	info, there, err := lstat(v, t.Path)
	switch {
	case err != nil:
		return nil, want, err
	case !there:
		item := &Item{Key: FileKey(t.Path), Op: Create, Fields: want.created()}
		return item, want, t.show(item, nil)
	case info.Type == hostfs.Symlink:
		item := &Item{Key: FileKey(t.Path), Op: Update,
			Fields: append([]Field{{Name: "type", Before: "symlink", After: "file"}}, want.created()...)}
		return item, want, t.show(item, nil)
	case info.Type != hostfs.Regular:
		return nil, want, &hostpath.InTheWayError{Path: t.Path, Is: info.Type, Want: hostfs.Regular}
	}
	same, err := t.hasContent(v, info)
	if err != nil || same && want.is(info) {
		return nil, want, err
	}
	item := &Item{Key: FileKey(t.Path), Op: Update, Fields: want.changed(info)}
	if !same {
		err = t.showOld(v, item, info, hides(info.Mode) && !hides(want.mode))
	}
	return item, want, err
}

// hasContent reports whether the file at the path, which info describes, has the wanted content.
func (t File) hasContent(v host.View, info hostfs.FileInfo) (bool, error) {
	content := t.content()
	if info.Size != content.Size {
		return false, nil
	}
	sum, err := v.Files.SumOf(t.Path, info)
	return sum == content.Sum, err
}

// hides reports whether a mode keeps other users from reading.
func hides(mode fs.FileMode) bool { return mode&0o004 == 0 }

// showOld adds the difference to the present content to the item. A hidden content may be a secret
// of the program that wrote it, so nothing of it is shown.
func (t File) showOld(v host.View, item *Item, info hostfs.FileInfo, hidden bool) error {
	var old []byte
	if info.Size <= maxShown {
		var err error
		var names *hostpath.NamesError // a file with other hard links may not be the agent's: it is not shown
		if old, err = v.Files.Strict().ReadFile(t.Path); err != nil && !errors.As(err, &names) {
			return err
		}
	}
	content := Field{Name: "content", Before: "secret", After: "another secret"}
	if !t.Secret {
		sum, err := v.Files.Sum(t.Path)
		if err != nil {
			return err
		}
		new := t.content()
		content.After = contentName(new.Sum, new.Size)
		if !hidden {
			content.Before = contentName(sum, info.Size)
		}
	}
	item.Fields = append([]Field{content}, item.Fields...)
	if !hidden && info.Size <= maxShown && isText(old) {
		return t.show(item, old)
	}
	return nil
}

// show adds the contents to the item, if they are text and not secret.
func (t File) show(item *Item, old []byte) error {
	if t.Secret || t.content().Size > maxShown {
		return nil
	}
	text, err := t.bytes()
	if err != nil {
		return err
	}
	if isText(text) {
		item.Before, item.After = old, text
	}
	return nil
}

// maxShown is the largest content that a plan shows, in bytes.
const maxShown = 256 << 10

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// contentName names a content in a plan: by the begin of its digest and its size.
func contentName(sum blob.Digest, size int64) string {
	return fmt.Sprintf("sha256 %.12s, %s", sum, plural.Of(size, "byte"))
}

// fileForm is the form of a file in the ledger: its content may be elsewhere.
var fileForm = form{recordFile, recorded[File](nil, nil).rebuild}

// recordFile records a file whose content may be elsewhere. It uses its copy of the task again,
// because a pass records ten thousand files and keeps none of the copies.
func recordFile(kind string, task Task) (Recorded, []blob.Content, error) {
	t := fileCopies.Get().(*File)
	defer fileCopies.Put(t)
	*t = value[File](task)
	content := t.content()
	t.Content = nil
	return recordWith(kind, t, &t.Meta, content)
}

var fileCopies = sync.Pool{New: func() any { return new(File) }}

func (t *File) parts() (*Meta, []*secret.Bytes) { return &t.Meta, []*secret.Bytes{&t.Content} }
