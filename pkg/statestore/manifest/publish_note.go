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

// NoteName is the name of the object that says who published. The bundle contains it. Agents of
// earlier releases report it as an unknown name, and continue.
const NoteName = "publication"

// Note says who published a generation, from which commit and why. A node only shows it.
type Note struct {
	Publisher string `json:"publisher,omitempty"`
	Commit    string `json:"commit,omitempty"`
	Message   string `json:"message,omitempty"`
}

// noteObject is the JSON form of a Note. It is a file format: a field may be added, and none may
// change.
type noteObject struct {
	APIVersion string `json:"apiVersion"` // [Version]
	Kind       string `json:"kind"`       // "Publication"
	Note
}

// The limits of a note in bytes. Every node reads the note.
const (
	maxNoteName    = 200
	maxNoteMessage = 4 << 10
)

// Check returns an error for a note that is too long or no UTF-8.
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
	// these types always have a JSON form
	out, _ := json.MarshalIndent(noteObject{Version, "Publication", n}, "", "  ")
	return append(out, '\n')
}

// String returns one line, such as "alice on build-1, commit 1f2e3d: open the port".
func (n Note) String() string {
	text := n.Publisher
	if n.Commit != "" {
		text += ", commit " + n.Commit
	}
	if n.Message != "" {
		text += ": " + n.Message
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, ", "), ": ")
	return strings.Join(strings.Fields(text), " ")
}

// NoteOf decodes a note. It returns the zero Note for one that it cannot decode, so that no node
// fails because of a note.
func NoteOf(data []byte) Note {
	var o noteObject
	if json.Unmarshal(data, &o) != nil || o.Kind != "Publication" || o.Check() != nil {
		return Note{}
	}
	return o.Note
}

// IsPublished reports whether a reader accepts a published object of this name.
func IsPublished(name string) bool { return IsObject(name) || name == NoteName }

// ReadNote reads the note of a manifest. It returns nil if the manifest has none.
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

// Names reports whether the manifest has exactly these objects, apart from the note.
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

// Count returns the number of the manifest's objects without the note.
func (m *Manifest) Count() int {
	if _, noted := m.Objects[NoteName]; noted {
		return len(m.Objects) - 1
	}
	return len(m.Objects)
}
