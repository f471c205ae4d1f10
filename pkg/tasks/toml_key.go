package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tomledit"
)

// KindTOML is the kind of a key in a TOML file: toml:/etc/containerd/config.toml#plugins.x.y.
const KindTOML = "toml"

// TOMLKey is one key in a TOML file of another program. All other bytes of the file stay, also
// comments, order and line ends. Where the key cannot be changed so, the error says which line to
// rewrite.
type TOMLKey struct {
	Meta
	Path  string
	Table []string // {"plugins", "io.containerd.grpc.v1.cri", "cni"}
	Key   string
	Value any // string, bool, int64 or []string
	// Make is the command that creates a missing file. The error names it; the agent never runs it.
	Make string `json:"-"`
}

var (
	_ Task     = TOMLKey{}
	_ needer   = TOMLKey{}
	_ Remover  = TOMLKey{}
	_ Restorer = TOMLKey{}
)

// Owns implements [Task].
func (t TOMLKey) Owns() []graph.Key {
	return []graph.Key{graph.MakeKey(KindTOML, t.Path+"#"+t.name())}
}

// needs implements [needer]: where the agent writes the whole file, that comes first.
func (t TOMLKey) needs() []graph.Key { return append([]graph.Key{FileKey(t.Path)}, t.Requires...) }

// Plan implements [Task].
func (t TOMLKey) Plan(_ context.Context, v host.View) (*Change, error) {
	item := Item{Key: t.Owns()[0], Op: Update}
	after, err := tomledit.Format(t.Value)
	if err != nil {
		return nil, fmt.Errorf("plan %s in %s: %w", t.name(), t.Path, err)
	}
	if willExist(v, FileKey(t.Path)) {
		item.Fields = []Field{t.field("", after)}
		c := t.change([]Item{item}, "its file changes")
		c.Unknown = "until " + string(FileKey(t.Path)) + " is written"
		return c, nil
	}
	text, err := v.Files.ReadFile(t.Path)
	if errors.Is(err, host.ErrNotExist) {
		how := "install the package that brings it"
		if t.Make != "" {
			how = "make it with `" + t.Make + "`"
		}
		return nil, problem.Missing("plan %s in %s: the file does not exist: %s", t.name(), t.Path, how)
	}
	if err != nil {
		return nil, fmt.Errorf("plan %s in %s: %w", t.name(), t.Path, err)
	}
	edit, err := t.setting().Set(text)
	if err != nil {
		return nil, fmt.Errorf("plan %s in %s: %w", t.name(), t.Path, err)
	}
	if edit.Same {
		return nil, nil
	}
	item.Fields = []Field{t.field(edit.Before, after)}
	reason := "value differs"
	if edit.Before == "" {
		item.Op, reason = Create, "absent"
	}
	return t.change([]Item{item}, reason), nil
}

// Apply implements [Task]. Several keys of one file are written one after the other.
func (t TOMLKey) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	err := h.Files.EditFile(ctx, t.Path, func(old []byte) ([]byte, error) {
		edit, err := t.setting().Set(old)
		return edit.Text, err
	})
	if err != nil {
		return fmt.Errorf("set %s in %s: %w", t.name(), t.Path, err)
	}
	return nil
}

func (t TOMLKey) setting() tomledit.Setting {
	return tomledit.Setting{Table: t.Table, Key: t.Key, Value: t.Value}
}

// name returns the key with its table, in TOML syntax.
func (t TOMLKey) name() string { return t.setting().String() }

func (t TOMLKey) field(before, after string) Field {
	if t.Secret {
		if before != "" {
			before = "secret"
		}
		after = "another secret"
	}
	return Field{Name: "value", Before: before, After: after}
}

// Live implements [StateReader]. It returns the value as it is written in the file.
func (t TOMLKey) Live(_ context.Context, v host.View) (string, error) {
	text, err := v.Files.ReadFile(t.Path)
	if err != nil {
		return "", IgnoreMissing(err)
	}
	return t.setting().Get(text)
}

// Remove implements [Remover]. It removes the key's line; all other bytes stay.
func (t TOMLKey) Remove(ctx context.Context, h *host.Host) error {
	if _, err := h.Live.Files.Lstat(t.Path); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	return h.Files.EditFile(ctx, t.Path, t.setting().Unset)
}

// Baseline implements [Restorer]: the whole file, so that it can be restored byte for byte where no
// other program wrote to it.
func (t TOMLKey) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	b, err := anyPath(t.Path).Baseline(ctx, v)
	if err != nil {
		return b, err
	}
	b.Live, err = t.Live(ctx, v)
	return b, err
}

// Restore implements [Restorer]. Where the file is the old one with only this key changed, it
// restores the old file. Where another program wrote to the file too, it restores only the key.
// Where the file is gone, there is nothing to restore.
func (t TOMLKey) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	if _, there, err := lstat(h.Live.View(), t.Path); err != nil || !there {
		return err
	}
	whole := false
	var was pathBaseline
	err := h.Files.EditFileAt(ctx, t.Path, func(now []byte) ([]byte, *int64, error) {
		text, err := t.back(now, b)
		if whole = err == nil && bytes.Equal(text, b.Content); !whole {
			return text, nil, err
		}
		return text, &was.Mtime, json.Unmarshal(b.Data, &was)
	})
	if err != nil || !whole {
		return err
	}
	if err := h.Files.SetAttributes(t.Path, was.Attrs); err != nil {
		return err
	}
	return h.Files.SetMtime(t.Path, was.Mtime)
}

// Restored implements [Restorer]. The file's mtime and attributes are restored with the last of its
// keys. Where the file is gone, there is nothing to restore.
func (t TOMLKey) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	if _, there, err := lstat(v, t.Path); err != nil || !there {
		return err == nil, err
	}
	if same, err := alive(ctx, v, t, b); err != nil || !same {
		return same, err
	}
	if b.Blob == nil {
		return true, nil
	}
	if sum, err := v.Files.Sum(t.Path); err != nil || sum != *b.Blob {
		return err == nil, err
	}
	return anyPath(t.Path).untouched(v, b)
}

// back returns the file with the key's baseline.
func (t TOMLKey) back(now []byte, b Baseline) ([]byte, error) {
	if e, err := t.setting().Set(b.Content); err == nil && bytes.Equal(e.Text, now) {
		return b.Content, nil
	}
	if b.Live == "" {
		return t.setting().Unset(now)
	}
	return t.setting().Put(now, b.Live)
}

// normalizeValue converts the value from JSON's types back to the task's.
func normalizeValue(t *TOMLKey) { t.Value = normalizeTOML(t.Value) }

func normalizeTOML(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return v
}
