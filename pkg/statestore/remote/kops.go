package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// kopsStore reads kOps' own store through a source. A source cannot list, so kopsStore reads the
// documents of one node group by the names that kOps has used since 1.18. kOps changes the
// documents one by one and signs nothing. So kopsStore reads until one round found no change, and
// returns documents only if the policy accepts unsigned ones. A round without a change is a request
// without a body for each document, two or three in all.
// https://kops.sigs.k8s.io/state/
type kopsStore struct {
	source  objectstore.Source
	cluster string
	group   string // if "", only the cluster's document is read
	trust   *trust.Policy

	mu   sync.Mutex
	have map[string]objectstore.Object // the documents of the last round, by name; nil before it
	all  bool                          // the next round also looks for the documents that were missing
}

// kopsLooks is the number of rounds of one Fetch while documents change.
const kopsLooks = 5

// Fetch implements [statestore.Store].
func (k *kopsStore) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range kopsLooks {
		changed, err := k.look(ctx)
		if err != nil {
			return nil, err
		}
		if !changed {
			return k.snapshot(last)
		}
	}
	return nil, graph.Transient(statestore.ErrChanged)
}

// look reads the documents that changed, and reports whether any did.
func (k *kopsStore) look(ctx context.Context) (changed bool, err error) {
	have := map[string]objectstore.Object{}
	for _, choice := range k.choices() {
		for _, name := range choice {
			known := k.have[name]
			got, err := k.source.Get(ctx, name, known.ETag, manifest.MaxObjectSize)
			switch {
			case errors.Is(err, statestore.ErrNotModified):
				have[name] = known
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return false, err
			default:
				have[name], changed = got, changed || string(got.Body) != string(known.Body)
			}
			break
		}
	}
	some := k.have != nil && !k.all // only the names that were there before were requested
	changed = changed || len(have) != len(k.have)
	k.all, k.have = changed && some, have
	switch {
	case slices.ContainsFunc(manifest.ClusterDocuments, func(name string) bool { _, ok := have[name]; return ok }):
		return changed, nil
	case some:
		return true, nil
	}
	k.have = nil
	return false, problem.StoreMissing.Missing(
		"there is no cluster %q of kOps: set store and cluster to where it is", k.cluster)
}

// choices returns the names of the documents to read: of each list the first that exists. After the
// first round each list has only the name that existed, so that a round makes no other request.
func (k *kopsStore) choices() [][]string {
	choices := [][]string{slices.Clone(manifest.ClusterDocuments[1:])}
	if k.group != "" {
		choices = append(choices, []string{kops.Group(k.group)}, kops.Nodeups(k.group))
	}
	if k.have == nil || k.all {
		return choices
	}
	for i, choice := range choices {
		choices[i] = slices.DeleteFunc(choice, func(name string) bool { _, had := k.have[name]; return !had })
	}
	return choices
}

// snapshot returns the documents of the last round.
func (k *kopsStore) snapshot(last statestore.Revision) (*statestore.Snapshot, error) {
	s := &statestore.Snapshot{Cluster: k.cluster, Objects: map[string][]byte{}, Origin: k.source.String()}
	for _, name := range slices.Sorted(maps.Keys(k.have)) {
		s.Objects[name] = k.have[name].Body
	}
	s.Manifest = manifest.New(k.cluster, 0, s.Objects).Encode()
	s.Revision = statestore.Revision{Digest: trust.Digest(s.Manifest)}
	if k.trust != nil {
		if err := k.trust.CheckOwn(s.Manifest,
			errors.New("kOps' documents have no signature: publish the directory with one (`agent store publish "+
				"--key`), or accept unsigned documents with --insecure-unsigned")); err != nil {
			return nil, err
		}
	}
	if s.Revision == last {
		return nil, statestore.ErrNotModified
	}
	s.Seek = k.seek
	return s, nil
}

// seek reads a keyset, which is not part of a round, for a caller that needs it.
func (k *kopsStore) seek(name string) ([]byte, error) {
	ctx, cancel := lazily()
	defer cancel()
	got, err := k.source.Get(ctx, name, "", manifest.MaxObjectSize)
	if err != nil {
		return nil, fmt.Errorf("state store %s: %w", k.source, err)
	}
	return got.Body, nil
}
