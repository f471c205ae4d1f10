package storetest

import (
	"bytes"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
)

// Publish puts the objects of a [Publication], the manifest last.
func (m *MapStore) Publish(publication map[string][]byte) {
	for name, data := range publication {
		if name != "manifest" {
			m.Set(name, data)
		}
	}
	if manifest := publication["manifest"]; manifest != nil {
		m.Set("manifest", manifest)
	}
}

// Harness returns a harness for what is published in m, with bundles or without. open makes the
// store that reads m.
func (m *MapStore) Harness(bundle bool, open func(t *testing.T, cluster string) statestore.Store) Harness {
	generation := int64(0)
	var last, published map[string][]byte
	return Harness{
		Open: open,
		Publish: func(_ *testing.T, objects map[string][]byte) {
			generation++
			last, published = objects, Publication(generation, objects, bundle)
			m.Publish(published)
		},
		Tear: func(_ *testing.T, objects map[string][]byte) {
			p := Publication(generation+1, objects, bundle)
			delete(p, "manifest")
			m.Publish(p)
		},
		PutAsset: func(_ *testing.T, name string, size int64, fill byte) {
			m.Set(name, bytes.Repeat([]byte{fill}, int(size)))
		},
		Tamper: func(_ *testing.T, name string) {
			m.Publish(Tampered(published, last[name]))
		},
	}
}
