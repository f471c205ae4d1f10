// Package storetest is the conformance suite of [statestore.Store]: what a node needs of every kind
// of store. A store uses the suite with one test that calls [Run].
package storetest

import (
	"context"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
)

// Cluster is the cluster that the suite publishes.
const Cluster = "suite.example.com"

// Harness is one empty store, with the functions by which the suite changes the store without its
// readers. Each function fails t if it cannot do its part.
type Harness struct {
	// Open returns another reader of cluster, as another process would have it.
	Open func(t *testing.T, cluster string) statestore.Store
	// Publish makes objects, by their names in a snapshot, all that Cluster has. A reader sees the
	// objects of before or of after.
	Publish func(t *testing.T, objects map[string][]byte)
	// PutAsset puts a file of size bytes, each of them fill, under the name that Open takes. Nil if
	// the store has no assets.
	PutAsset func(t *testing.T, name string, size int64, fill byte)
	// Tear does all that Publish does but its last step. Nil if nothing of a publication happens
	// before its last step.
	Tear func(t *testing.T, objects map[string][]byte)
	// Tamper changes the stored content of a published object and nothing else, not its length
	// either. Nil if the store vouches for no content.
	Tamper func(t *testing.T, name string)
}

// Run runs every case, each on a store of its own.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"first fetch", firstFetch},
		{"not modified", notModified},
		{"change seen", changeSeen},
		{"change back seen", changeBackSeen},
		{"deletion seen", deletionSeen},
		{"unknown revision gets a snapshot", unknownRevision},
		{"names with odd characters", oddNames},
		{"names outside the layout", unknownNames},
		{"tampered object refused", tampered},
		{"torn publication invisible", torn},
		{"changes while being read", coherent},
		{"concurrent fetches", concurrent},
		{"cluster document missing", noClusterDocument},
		{"missing cluster", missingCluster},
		{"empty store", emptyStore},
		{"asset", asset},
		{"asset missing", assetMissing},
		{"asset outside", assetOutside},
		{"big asset streams", bigAsset},
		{"cancelled", cancelled},
		{"string", stringNames},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, harness(t)) })
	}
}

// objects are the least that a cluster has, and more of it given as pairs of name and content.
func objects(more ...string) map[string][]byte {
	all := map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = []byte(more[i+1])
	}
	return all
}

// fetch returns a snapshot that must be there.
func fetch(t *testing.T, s statestore.Store, last statestore.Revision) *statestore.Snapshot {
	t.Helper()
	snapshot, err := s.Fetch(context.Background(), last)
	if err != nil {
		t.Fatalf("Fetch: %v", err)
	}
	return snapshot
}
