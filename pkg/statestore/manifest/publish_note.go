package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// NoteName is the object that says who published. It is in the bundle. Agents of earlier releases
// say that they do not know it, and go on.
const NoteName = "publication"

// Note says who published a generation, from which commit and why. Nothing that a node does depends
// on it.
type Note struct {
	Publisher string `json:"publisher,omitempty"`
	Commit    string `json:"commit,omitempty"`
	Message   string `json:"message,omitempty"`
}

// noteObject is its JSON form, which is a file format: fields are added, never changed.
type noteObject struct {
	APIVersion string `json:"apiVersion"` // [Version]
	Kind       string `json:"kind"`       // "Publication"
	Note
}

// The bounds of a note, in bytes: every node reads it.
const (
	maxNoteName    = 200
	maxNoteMessage = 4 << 10
)

// Check refuses what no note can say.
func (n Note) Check() error {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"publisher", n.Publisher, maxNoteName}, {"commit", n.Commit, maxNoteName},
		{"message", n.Message, maxNoteMessage}} {
		switch {
		case len(f.text) > f.most:
			return problem.Usage.Errorf("the %s has %d bytes, at most %d are taken: shorten it", f.name, len(f.text),
				f.most)
		case !utf8.ValidString(f.text):
			return problem.Usage.Errorf("the %s %q is no UTF-8: write it as such", f.name, f.text)
		}
	}
	return nil
}

func (n Note) Encode() []byte {
	// plain data always has a JSON form
	out, _ := json.MarshalIndent(noteObject{Version, "Publication", n}, "", "  ")
	return append(out, '\n')
}

// String is "alice on build-1, commit 1f2e3d: open the port", on one line.
func (n Note) String() string {
	text := n.Publisher
	if n.Commit != "" {
		text += ", commit " + n.Commit
	}
	if n.Message != "" {
		text += ": " + strings.Join(strings.Fields(n.Message), " ")
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, ", "), ": ")
}

// NoteOf reads a note. One that cannot be read says nothing: no node fails for it.
func NoteOf(data []byte) Note {
	var o noteObject
	if json.Unmarshal(data, &o) != nil || o.Kind != "Publication" || o.Check() != nil {
		return Note{}
	}
	return o.Note
}

// IsPublished reports whether a published object of this name is read.
func IsPublished(name string) bool { return IsObject(name) || name == NoteName }

// ReadNote reads the note that a manifest names; nil: it names none.
func (m *Manifest) ReadNote(ctx context.Context, from objectstore.Source) ([]byte, error) {
	o, noted := m.Objects[NoteName]
	if !noted {
		return nil, nil
	}
	data, err := m.Read(ctx, from, NoteName, o)
	if err != nil && problem.Find(err) != problem.StoreDamaged {
		err = fmt.Errorf("read who published generation %d: %w", m.Generation, err)
	}
	return data, err
}

// Names reports whether a manifest names these objects and, but for the note, no others.
func (m *Manifest) Names(objects map[string][]byte) bool {
	if m.Count() != len(objects) {
		return false
	}
	for name, data := range objects {
		if m.Objects[name] != objectOf(data) {
			return false
		}
	}
	return true
}

// Count is how many a manifest names without the note.
func (m *Manifest) Count() int {
	if _, noted := m.Objects[NoteName]; noted {
		return len(m.Objects) - 1
	}
	return len(m.Objects)
}
