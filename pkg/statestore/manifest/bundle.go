package manifest

import (
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// BundleName is the name of the bundle in messages. The bundle has no name in the manifest.
const BundleName = "the bundle"

// Bundled reports whether the bundle contains an object of this name. It does not use [Layout],
// because a newer publisher may have names that this agent does not have.
func Bundled(name string) bool {
	return !IsPrivate(name) && !IsFile(name)
}

// InBundle returns the names of the bundle's objects, in their order in the bundle.
func (m *Manifest) InBundle() []string {
	names := slices.Sorted(maps.Keys(m.Objects))
	return slices.DeleteFunc(names, func(name string) bool { return !Bundled(name) })
}

// AddBundle adds to the manifest one object with all documents and certificates, and returns its
// content. With the bundle, a boot needs two requests. The content is that of the objects in the
// order of their names. It leaves out private keys and what is below files/. Publishers call it.
func (m *Manifest) AddBundle(objects map[string][]byte) []byte {
	var out []byte
	for _, name := range m.InBundle() {
		out = append(out, objects[name]...)
	}
	bundle := objectOf(out)
	m.Bundle = &bundle
	return out
}

// Unbundle splits the bundle by the sizes in the manifest. The caller has to verify each part.
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
