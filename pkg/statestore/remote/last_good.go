package remote

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Pack joins the objects that a node read from a store into one content, for [NewLastGood]. Each
// object follows its length, in the order of the names.
func Pack(objects map[string][]byte) []byte {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		out = append(binary.BigEndian.AppendUint64(out, uint64(len(objects[name]))), objects[name]...)
	}
	return out
}

// Unpack returns the contents that [Pack] joined. If packed is cut off, it returns those that are
// complete. A reader of a missing one gets an error that names it.
func Unpack(packed []byte) (all [][]byte) {
	for len(packed) >= 8 {
		size := binary.BigEndian.Uint64(packed)
		if packed = packed[8:]; size > uint64(len(packed)) {
			break
		}
		all = append(all, packed[:size:size])
		packed = packed[size:]
	}
	return all
}

// NewLastGood returns a store from the copy that a node saved of another store: the manifest as it
// was there, and the objects that [Pack] joined. The policy and the hashes are checked as for the
// other store, but the manifest may have expired. name is the name of the other store.
func NewLastGood(name, cluster string, raw, packed []byte, policy *trust.Policy) *Remote {
	source := &localSource{name: name, objects: map[string][]byte{manifest.Name: raw}}
	for _, data := range Unpack(packed) {
		source.objects[path.Join(manifest.ObjectsDir, trust.Digest(data))] = data
	}
	r := New(source, cluster, policy)
	r.open = openCached
	return r
}

// openCached opens a manifest that was trusted when the node saved it.
func openCached(raw []byte, cluster, _ string, policy *trust.Policy) (m *manifest.Manifest, digest string, err error) {
	statement, err := policy.CheckCached(raw)
	if err == nil {
		m, err = manifest.Decode(statement, cluster)
	}
	if err != nil {
		return nil, "", err
	}
	m.Bundle = nil                       // the copy has single objects and no bundle
	delete(m.Objects, manifest.NoteName) // earlier releases do not save it
	return m, trust.Digest(statement), nil
}

// localSource is a source in memory.
type localSource struct {
	name    string
	objects map[string][]byte
}

var _ objectstore.Source = (*localSource)(nil)

func (k *localSource) String() string { return k.name }

func (k *localSource) Get(_ context.Context, name, _ string, _ int64) (objectstore.Object, error) {
	data, ok := k.objects[name]
	if !ok {
		return objectstore.Object{}, problem.Missing("it was not kept on this node")
	}
	return objectstore.Object{Body: data}, nil
}

func (k *localSource) Open(_ context.Context, name string) (io.ReadCloser, int64, error) {
	return nil, 0, problem.Missing("%s was not kept on this node", name)
}
