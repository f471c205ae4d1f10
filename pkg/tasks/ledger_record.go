package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/secret"
)

// Recorded is a task as the ledger records it. It is enough to make the task again without its
// configuration. Contents are recorded by their digest and stored elsewhere.
type Recorded struct {
	Kind    string          `json:"kind"`
	Version int             `json:"version"` // of the kind's parameters
	Params  json.RawMessage `json:"params"`
	Blobs   []blob.Digest   `json:"blobs,omitempty"` // digests of the task's contents, in the kind's order
	From    string          `json:"from,omitempty"`  // see Meta.From
	Why     string          `json:"why,omitempty"`
}

// Same reports whether two records make the same task, whoever asked for it.
func (r Recorded) Same(o Recorded) bool {
	return r.Kind == o.Kind && r.Version == o.Version && bytes.Equal(r.Params, o.Params) &&
		fmt.Sprint(r.Blobs) == fmt.Sprint(o.Blobs)
}

// recordVersion is the version of the parameters of all kinds. A kind whose parameters change their
// meaning gets its own version.
const recordVersion = 1

// form is how the ledger records the tasks of a kind.
type form struct {
	record  func(kind string, t Task) (Recorded, []blob.Content, error)
	rebuild func(r Recorded, read func(blob.Digest) ([]byte, error)) (Task, error) // nil: the kind is not recorded
}

// unrecorded is for kinds that the ledger does not record.
var unrecorded = form{func(string, Task) (Recorded, []blob.Content, error) { return Recorded{}, nil, nil }, nil}

// recorded is for kinds whose parameters are their fields. before changes the copy that is
// recorded, and after changes the rebuilt task; nil: no change.
func recorded[T Task, P recordable[T]](before, after func(*T)) form {
	return form{
		func(kind string, t Task) (Recorded, []blob.Content, error) {
			own := value[T](t)
			if before != nil {
				before(&own)
			}
			return record[T, P](kind, &own)
		},
		func(r Recorded, read func(blob.Digest) ([]byte, error)) (Task, error) {
			own, err := rebuild[T, P](r, read)
			if err != nil {
				return nil, err
			}
			if after != nil {
				after(&own)
			}
			return own, nil
		},
	}
}

// value returns a task as a value of its kind; t may be a pointer to it.
func value[T Task](t Task) T {
	if p, ok := any(t).(*T); ok {
		return *p
	}
	return t.(T)
}

// recordable is a pointer to a kind. Its parameters are its fields, except those that parts
// returns.
type recordable[T any] interface {
	*T
	parts() (*Meta, []*secret.Bytes)
}

// parts returns the Meta of a task and its contents. Kinds with contents have their own method.
func (m *Meta) parts() (*Meta, []*secret.Bytes) { return m, nil }

// record clears the fields of its copy that are stored beside the parameters, and encodes the rest.
func record[T any, P recordable[T]](kind string, t P) (Recorded, []blob.Content, error) {
	meta, parts := t.parts()
	contents := make([]blob.Content, len(parts))
	for i, c := range parts {
		contents[i], *c = blob.Of(*c), nil
	}
	return recordWith(kind, t, meta, contents...)
}

// recordWith is record of a task, of which meta is a part, without its contents.
func recordWith(kind string, t any, meta *Meta, contents ...blob.Content) (Recorded, []blob.Content, error) {
	r := Recorded{Kind: kind, Version: recordVersion, From: meta.From, Why: meta.Why}
	meta.From, meta.Why, meta.Overrides = "", "", ""
	if len(contents) > 0 {
		r.Blobs = make([]blob.Digest, len(contents))
	}
	for i := range contents {
		r.Blobs[i] = contents[i].Sum
	}
	var err error
	if r.Params, err = json.Marshal(t); err != nil {
		return Recorded{}, nil, fmt.Errorf("record a %s: %w", kind, err)
	}
	return r, contents, nil
}

func rebuild[T Task, P recordable[T]](r Recorded, read func(blob.Digest) ([]byte, error)) (t T, err error) {
	if err := json.Unmarshal(r.Params, &t); err != nil {
		return t, fmt.Errorf("rebuild a %s: %w", r.Kind, err)
	}
	meta, contents := P(&t).parts()
	meta.From, meta.Why = r.From, r.Why
	if len(contents) != len(r.Blobs) {
		return t, fmt.Errorf("rebuild a %s: recorded contents: %d, it has %d", r.Kind, len(r.Blobs), len(contents))
	}
	for i, c := range contents {
		if *c, err = read(r.Blobs[i]); err != nil {
			return t, fmt.Errorf("rebuild a %s: %w", r.Kind, err)
		}
		if sha256.Sum256(*c) != r.Blobs[i] {
			return t, fmt.Errorf("rebuild a %s: its content %s is damaged", r.Kind, r.Blobs[i])
		}
	}
	return t, nil
}
