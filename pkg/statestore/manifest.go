package statestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
)

// Manifest names every object of a published state by its content. It is the only object of a
// published cluster that changes, so that its replacement is the publication. Its JSON form is a
// file format: fields are added, never changed.
type Manifest struct {
	APIVersion string    `json:"apiVersion"` // [ManifestVersion]
	Kind       string    `json:"kind"`       // "Manifest"
	Cluster    string    `json:"cluster"`    // so that one cluster's manifest is not taken for another's
	Generation int64     `json:"generation"` // from 1, rises with each publication; 0 in one that was made up
	Published  time.Time `json:"published,omitzero"`
	Expires    time.Time `json:"expires,omitzero"` // from then on no node takes it for new
	// all documents and certificates in one; see [Manifest.AddBundle]
	Bundle  *Object           `json:"bundle,omitempty"`
	Objects map[string]Object `json:"objects"` // by path relative to the cluster
}

// Object is one entry of a manifest. Its content is in objects/sha256/<SHA256>, or, where only
// control plane nodes may read it, in objects/control-plane/<SHA256>: the manifest does not say
// which, as agents of earlier releases refuse a field that they do not know.
type Object struct {
	SHA256 string `json:"sha256"` // hex, lower case
	Size   int64  `json:"size"`   // bytes
}

// ManifestVersion is the version of the manifest's format.
const ManifestVersion = "netwright.dev/v1alpha1"

// maxManifestSize is in bytes: 200 for each object that a snapshot may have.
const maxManifestSize = 200 * MaxObjects

// NewManifest makes the manifest of objects: for a store that has none, and for whoever publishes
// one.
func NewManifest(cluster string, generation int64, objects map[string][]byte) *Manifest {
	m := newManifest(cluster, generation, len(objects))
	for name, data := range objects {
		m.Objects[name] = Object{SHA256: sum(data), Size: int64(len(data))}
	}
	return m
}

func newManifest(cluster string, generation int64, objects int) *Manifest {
	return &Manifest{APIVersion: ManifestVersion, Kind: "Manifest", Cluster: cluster, Generation: generation,
		Objects: make(map[string]Object, objects)}
}

// Encode is the manifest's canonical form: the same objects give the same bytes.
func (m *Manifest) Encode() []byte {
	out := m.begin(len(m.Objects))
	for i, name := range slices.Sorted(maps.Keys(m.Objects)) {
		o := m.Objects[name]
		out = appendObject(out, i, name, o.SHA256, o.Size)
	}
	return finish(out, len(m.Objects))
}

// begin is what stands before the objects, with room for so many.
func (m *Manifest) begin(objects int) []byte {
	const each = 200 // bytes for an object with a name of ordinary length
	out := make([]byte, 0, 200+each*objects)
	out = fmt.Appendf(out, "{\n  \"apiVersion\": %s,\n  \"kind\": %s,\n  \"cluster\": %s,\n  \"generation\": %d,",
		quote(m.APIVersion), quote(m.Kind), quote(m.Cluster), m.Generation)
	out = appendTime(appendTime(out, "published", m.Published), "expires", m.Expires)
	if b := m.Bundle; b != nil {
		out = fmt.Appendf(out, "\n  \"bundle\": {\n    \"sha256\": %s,\n    \"size\": %d\n  },", quote(b.SHA256),
			b.Size)
	}
	return append(out, "\n  \"objects\": {"...)
}

// appendTime adds a moment in UTC; the zero time is none.
func appendTime(out []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return out
	}
	return fmt.Appendf(out, "\n  %q: %q,", name, t.UTC().Format(time.RFC3339))
}

// appendObject adds the object with number i. By hand: package json takes longer for the objects of
// a big store than it takes to read and hash its files.
func appendObject(out []byte, i int, name, sha256 string, size int64) []byte {
	if i > 0 {
		out = append(out, ',')
	}
	out = append(appendQuoted(append(out, "\n    "...), name), ": {\n      \"sha256\": "...)
	out = append(appendQuoted(out, sha256), ",\n      \"size\": "...)
	return append(strconv.AppendInt(out, size, 10), "\n    }"...)
}

// finish is what stands behind so many objects.
func finish(out []byte, objects int) []byte {
	if objects > 0 {
		out = append(out, "\n  "...)
	}
	return append(out, "}\n}\n"...)
}

// quote is a string in JSON.
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

// ParseManifest decodes and checks a published manifest of cluster. Every error is permanent: the
// same bytes fail again.
func ParseManifest(data []byte, cluster string) (*Manifest, error) {
	m, err := decodeManifest(data, cluster)
	if err == nil && m.Generation < 1 {
		return nil, fmt.Errorf("manifest has generation %d, the first is 1: publish again", m.Generation)
	}
	return m, err
}

// decodeManifest takes one too that was made up.
func decodeManifest(data []byte, cluster string) (*Manifest, error) {
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
	case m.APIVersion != ManifestVersion || m.Kind != "Manifest":
		return nil, fmt.Errorf("manifest is a %q of %q, this agent reads a \"Manifest\" of %q: update the agent or "+
			"publish again", m.Kind, m.APIVersion, ManifestVersion)
	case m.Cluster != cluster:
		return nil, fmt.Errorf("manifest is of cluster %q, not %q: publish into the directory of its own name",
			m.Cluster, cluster)
	}
	for name, t := range map[string]time.Time{"published": m.Published, "expires": m.Expires} {
		if year := t.UTC().Year(); !t.IsZero() && (year < 1970 || year > 9999) {
			return nil, fmt.Errorf("manifest says %s %s, which no clock shows: publish again", name,
				t.UTC().Format(time.RFC3339))
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check refuses entries that cannot be read safely.
func (m *Manifest) check() error {
	if len(m.Objects) > MaxObjects {
		return errTooMany
	}
	var total int64
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		o := m.Objects[name]
		switch {
		case !validName(name):
			return fmt.Errorf("manifest names an object %q, which is no path below the cluster: publish again", name)
		case !validDigest(o.SHA256):
			return fmt.Errorf("manifest gives %q the sha256 %q, which is none in lower-case hex: publish again", name,
				o.SHA256)
		case o.Size < 0 || o.Size > MaxObjectSize:
			return tooBig(name, o.Size)
		}
		total += o.Size
	}
	if b := m.Bundle; b != nil && (!validDigest(b.SHA256) || b.Size < 0 || b.Size > MaxSnapshotSize) {
		return fmt.Errorf("manifest gives the bundle %d bytes with sha256 %q, which cannot be: publish again", b.Size,
			b.SHA256)
	}
	return checkTotal(total)
}

// validDigest tells that s is a sha256 in the one way that it may be written.
func validDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == s
}

// digest is the entry's, which was checked.
func (o Object) digest() (digest hostfs.Digest) {
	_, _ = hex.Decode(digest[:], []byte(o.SHA256))
	return digest
}

// stored is a content that stays in the store.
func (o Object) stored(read func() ([]byte, error)) hostfs.Content {
	return hostfs.StoredContent(o.Size, o.digest(), read)
}

// verify checks an object's content against its entry.
func (o Object) verify(name string, c *content) error {
	sum := hex.EncodeToString(c.sum[:])
	if !c.short && c.size == o.Size && sum == o.SHA256 {
		return nil
	}
	return problem.StoreDamaged.Errorf("object %q is not what the manifest says: %d bytes with sha256 %s, expected %d "+
		"with %s: it was damaged or tampered with, publish again",
		name, c.size, sum, o.Size, o.SHA256)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func checkTotal(size int64) error {
	if size > MaxSnapshotSize {
		return fmt.Errorf("all objects have %d bytes, at most %d can be read: put big files under assets/ and name "+
			"them in spec.assets", size, MaxSnapshotSize)
	}
	return nil
}
