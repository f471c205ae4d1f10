// Package manifest defines the form of a cluster in a store: the manifest, the names that objects
// may have, and how many and how big they may be. The manifest names every object by its sha256 and
// is the only object that changes. Publishers write it, and every store reads it. A reader of
// documents that were not published makes a manifest for them.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Manifest names every object of a publication by its hash. It is the only object of a published
// cluster that changes, so that replacing it is the publication. Its JSON form is a file format: a
// field may be added, and none may change.
type Manifest struct {
	APIVersion string    `json:"apiVersion"` // [Version]
	Kind       string    `json:"kind"`       // "Manifest"
	Cluster    string    `json:"cluster"`    // the agent refuses the manifest of another cluster
	Generation int64     `json:"generation"` // from 1, higher with each publication; 0 if a reader made the manifest
	Published  time.Time `json:"published,omitzero"`
	Expires    time.Time `json:"expires,omitzero"` // from then on no node accepts it as new
	// Bundle has all documents and certificates in one object: see [Manifest.AddBundle].
	Bundle  *Object           `json:"bundle,omitempty"`
	Objects map[string]Object `json:"objects"` // by path, relative to the cluster
}

// Version is the version of the manifest's format.
const Version = "netwright.dev/v1alpha1"

// MaxSize is the maximum size of a manifest in bytes: 200 for each object of a snapshot.
const MaxSize = 200 * MaxObjects

// New returns the manifest of objects. Publishers and readers of stores without a manifest call it.
func New(cluster string, generation int64, objects map[string][]byte) *Manifest {
	m := &Manifest{APIVersion: Version, Kind: "Manifest", Cluster: cluster, Generation: generation,
		Objects: make(map[string]Object, len(objects))}
	for name, data := range objects {
		m.Objects[name] = objectOf(data)
	}
	return m
}

// Encode returns the manifest's canonical form: the same objects give the same bytes.
func (m *Manifest) Encode() []byte {
	names := 0
	for name := range m.Objects {
		names += len(name)
	}
	e := m.Encoder(len(m.Objects), names)
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		e.Object(name, m.Objects[name].SHA256, m.Objects[name].Size)
	}
	return e.End()
}

// Encoder writes the JSON of a manifest. It does not use encoding/json, which takes more time for
// the objects of a big store than reading and hashing its files takes.
type Encoder struct {
	out  []byte
	some bool // whether an object was written
}

// Encoder has written what stands before the objects, and has room for so many, with so many bytes
// of names. They are given to it in the order of their names.
func (m *Manifest) Encoder(objects, names int) *Encoder {
	const around, each = 250, 125 // bytes, and of an object but for its name
	out := make([]byte, 0, around+each*objects+names)
	out = fmt.Appendf(out, "{\n  \"apiVersion\": %s,\n  \"kind\": %s,\n  \"cluster\": %s,\n  \"generation\": %d,",
		quote(m.APIVersion), quote(m.Kind), quote(m.Cluster), m.Generation)
	out = appendTime(appendTime(out, "published", m.Published), "expires", m.Expires)
	if b := m.Bundle; b != nil {
		out = fmt.Appendf(out, "\n  \"bundle\": {\n    \"sha256\": %s,\n    \"size\": %d\n  },", quote(b.SHA256),
			b.Size)
	}
	return &Encoder{out: append(out, "\n  \"objects\": {"...)}
}

// appendTime appends a time in UTC; it appends nothing for the zero time.
func appendTime(out []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return out
	}
	return fmt.Appendf(out, "\n  %q: %q,", name, t.UTC().Format(time.RFC3339))
}

// Object appends an object.
func (e *Encoder) Object(name, sha256 string, size int64) {
	if e.some {
		e.out = append(e.out, ',')
	}
	e.some = true
	e.out = append(appendQuoted(append(e.out, "\n    "...), name), ": {\n      \"sha256\": "...)
	e.out = append(appendQuoted(e.out, sha256), ",\n      \"size\": "...)
	e.out = append(strconv.AppendInt(e.out, size, 10), "\n    }"...)
}

// End returns the whole manifest.
func (e *Encoder) End() []byte {
	if e.some {
		e.out = append(e.out, "\n  "...)
	}
	return append(e.out, "}\n}\n"...)
}

// quote returns s as a JSON string.
func quote(s string) []byte { return appendQuoted(nil, s) }

func appendQuoted(out []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, _ := json.Marshal(s) // a string always encodes
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

// Parse decodes and checks a published manifest of cluster. Every error is permanent: the same
// bytes fail again.
func Parse(data []byte, cluster string) (*Manifest, error) {
	m, err := Decode(data, cluster)
	if err == nil && m.Generation < 1 {
		return nil, fmt.Errorf("manifest has generation %d, the first is 1: publish again", m.Generation)
	}
	return m, err
}

// Decode does what Parse does, and also accepts a manifest that a reader made.
func Decode(data []byte, cluster string) (*Manifest, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	m := new(Manifest)
	if err := dec.Decode(m); err != nil {
		return nil,
			fmt.Errorf("decode manifest: %w: publish again, or update the agent if a newer one published it", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode manifest: something follows it: publish again")
	}
	switch {
	case m.APIVersion != Version || m.Kind != "Manifest":
		return nil, fmt.Errorf("manifest is a %q of %q, this agent reads a \"Manifest\" of %q: update the agent or "+
			"publish again", m.Kind, m.APIVersion, Version)
	case m.Cluster != cluster:
		return nil, fmt.Errorf("manifest is of cluster %q, not %q: publish into the directory of its own name",
			m.Cluster, cluster)
	}
	for name, t := range map[string]time.Time{"published": m.Published, "expires": m.Expires} {
		if year := t.UTC().Year(); !t.IsZero() && (year < 1970 || year > 9999) {
			return nil, fmt.Errorf("manifest says %s %s, which is not a valid time: publish again", name,
				t.UTC().Format(time.RFC3339))
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// Named adds the sha256 of every object of the manifest to the set, and returns it.
func (m *Manifest) Named(to map[string]bool) map[string]bool {
	for _, o := range m.Objects {
		to[o.SHA256] = true
	}
	if m.Bundle != nil {
		to[m.Bundle.SHA256] = true
	}
	return to
}

// Check returns an error for entries that are not safe to read.
func (m *Manifest) Check() error {
	if len(m.Objects) > MaxObjects {
		return ErrTooMany
	}
	var total int64
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		o := m.Objects[name]
		switch {
		case !ValidName(name):
			return fmt.Errorf("manifest names an object %q, which is no path below the cluster: publish again", name)
		case !ValidDigest(o.SHA256):
			return fmt.Errorf("manifest gives %q the sha256 %q, which is none in lower-case hex: publish again", name,
				o.SHA256)
		case o.Size < 0 || o.Size > MaxObjectSize:
			return TooBig(name, o.Size)
		}
		total += o.Size
	}
	if b := m.Bundle; b != nil && (!ValidDigest(b.SHA256) || b.Size < 0 || b.Size > MaxSnapshotSize) {
		return fmt.Errorf("manifest gives the bundle %d bytes with sha256 %q, which is not possible: publish "+
			"again", b.Size,
			b.SHA256)
	}
	return CheckTotal(total)
}
