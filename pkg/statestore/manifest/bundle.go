package manifest

import (
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// BundleName is what messages call the bundle, which has no name of its own.
const BundleName = "the bundle"

// Bundled reports whether an object of this name is in the bundle. It asks nothing of [Layout],
// which a newer publisher may have more of.
func Bundled(name string) bool {
	return !IsPrivate(name) && !IsFile(name)
}

// InBundle lists the names in the bundle, in its order.
func (m *Manifest) InBundle() []string {
	names := slices.Sorted(maps.Keys(m.Objects))
	return slices.DeleteFunc(names, func(name string) bool { return !Bundled(name) })
}

// AddBundle names in the manifest one object that has every document and certificate, so that a
// boot costs two requests, and returns its content: theirs, one after the other in the order of
// their names. Private keys and what is below files/ are not in it. For who publishes.
func (m *Manifest) AddBundle(objects map[string][]byte) []byte {
	var out []byte
	for _, name := range m.InBundle() {
		out = append(out, objects[name]...)
	}
	bundle := objectOf(out)
	m.Bundle = &bundle
	return out
}

// Unbundle cuts the bundle at the sizes that the manifest gives. Each part has yet to be verified.
func (m *Manifest) Unbundle(data []byte) (map[string][]byte, error) {
	parts, rest := map[string][]byte{}, data
	for _, name := range m.InBundle() {
		size := m.Objects[name].Size
		if size > int64(len(rest)) {
			return nil, m.badBundle(data)
		}
		parts[name], rest = rest[:size:size], rest[size:]
	}
	if len(rest) > 0 {
		return nil, m.badBundle(data)
	}
	return parts, nil
}

func (m *Manifest) badBundle(data []byte) error {
	return problem.StoreDamaged.Errorf("the bundle is not what the manifest says: %d bytes with sha256 %s, expected "+
		"%d with %s: it was damaged or tampered with, publish again",
		len(data), trust.Digest(data), m.Bundle.Size, m.Bundle.SHA256)
}
