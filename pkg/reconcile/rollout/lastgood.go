package rollout

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// LastGood is the configuration that the node took last, for when the store cannot be reached or
// has unusable documents. It is verified again by hash and by the keys that the node trusts; only
// its expiry does not count. why is the store's error. It is returned where there is no last good
// one, with the reason if that is known.
func (r Rollout) LastGood(
	ctx context.Context, store statestore.Store, sel config.Select, why error,
) (*desired.State, error) {
	files, err := host.OpenFiles(r.Host)
	if err != nil {
		return nil, why
	}
	defer files.Close() // only read from
	good, err := ledger.ReadLastGood(files)
	if good == nil || good.Store != store.String() {
		if err != nil {
			return nil, fmt.Errorf("%w; nor can the last good configuration be read: %w", why, err)
		}
		return nil, why
	}
	d, err := r.LoadCached(ctx, files, good, sel)
	if err != nil {
		return nil, fmt.Errorf("%w; nor can the last good configuration be used: %w", why, err)
	}
	d.Taken = good.Taken
	d.Because(why)
	return d, nil
}

// LoadCached loads what was kept.
func (r Rollout) LoadCached(
	ctx context.Context, files hostfs.Files, good *ledger.LastGood, sel config.Select,
) (*desired.State, error) {
	manifest, err := ledger.Blob(files, good.Manifest)
	if err != nil {
		return nil, err
	}
	objects, err := ledger.Blob(files, good.Objects)
	if err != nil {
		return nil, err
	}
	policy := &trust.Policy{}
	if r.Trust != nil {
		policy = r.Trust
	}
	store := remote.NewLastGood(good.Store, good.Cluster, manifest, objects, policy)
	if _, err := Remember(r.Host, store); err != nil {
		return nil, err
	}
	return desired.Load(ctx, store, sel, statestore.Revision{})
}

// Save writes down what a pass worked towards, so that the node can do without the store. It comes
// at the end of the pass: until then the earlier one is there.
func (r Rollout) Save(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) error {
	if d.Pinned != nil || d.Snapshot.Manifest == nil {
		return nil
	}
	s, objects := d.Snapshot, d.Retained()
	if s.Note != (manifest.Note{}) {
		objects[manifest.NoteName] = s.Note.Encode()
	}
	now := ledger.LastGood{
		Store: s.Origin, Cluster: s.Cluster, Generation: s.Generation, Digest: s.Digest, Names: len(objects),
		Manifest: blob.Of(s.Manifest).Sum,
	}
	was, err := ledger.ReadLastGood(h.Live.Files)
	if err == nil && was != nil {
		same := *was
		same.Taken, same.Objects = now.Taken, now.Objects
		if same == now && (!r.Host.Verify || was.Intact(h.Live.Files)) {
			return nil
		}
	}
	now.Taken = time.Now().UTC().Truncate(time.Second)
	return led.SaveLastGood(context.WithoutCancel(ctx), h.Files, now, s.Manifest, remote.Pack(objects))
}

// Seen is the newest that the node has had from a store, for [trust.Policy]: what is older is
// refused. Where keys are listed that is also what waits, or whoever can write to the store takes a
// freeze back by what lay there before it. What a key signed that is listed no more says nothing of
// how far the store has come: whoever has that key may have made it.
func (r Rollout) Seen(store string) (trust.Seen, error) {
	files, err := host.OpenFiles(r.Host)
	if err != nil {
		return trust.Seen{}, err
	}
	defer files.Close() // only read from
	good, err := ledger.ReadLastGood(files)
	if host.Unread(err) {
		return trust.Seen{}, err
	}
	if err != nil || good == nil || good.Store != store {
		return trust.Seen{}, nil // that it is damaged is said where it would have been used
	}
	seen, keys := trust.Seen{Generation: good.Generation, Digest: good.Digest}, r.trusted()
	if len(keys) == 0 {
		return seen, nil
	}
	if raw, err := ledger.Blob(files, good.Manifest); err == nil {
		if _, err := r.Trust.CheckCached(raw); err != nil {
			seen = trust.Seen{}
		}
	}
	u, err := ledger.ReadUpdate(files)
	if host.Unread(err) {
		return trust.Seen{}, err
	}
	lost := func(key string) bool { return !slices.Contains(keys, key) }
	if u != nil && u.Keys != "" && u.Generation > seen.Generation && !slices.ContainsFunc(strings.Fields(u.Keys), lost) {
		seen = trust.Seen{Generation: u.Generation, Digest: u.Digest}
	}
	return seen, nil
}

// trusted are the keys that may sign, by their IDs.
func (r Rollout) trusted() (ids []string) {
	if r.Trust == nil {
		return nil
	}
	for _, k := range r.Trust.Keys {
		ids = append(ids, trust.ID(k.Public.ID()))
	}
	return ids
}

// CachedCluster names the cluster that the node took last from the store in a directory, for who
// names none and cannot list it; "" where there is none.
func CachedCluster(opt host.Options, location string) string {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return ""
	}
	defer files.Close() // only read from
	good, err := ledger.ReadLastGood(files)
	if err != nil || good == nil {
		return ""
	}
	if dir, err := filepath.Abs(strings.TrimPrefix(location, "file://")); err == nil &&
		filepath.Join(dir, good.Cluster) == good.Store {
		return good.Cluster
	}
	return ""
}

// StoreCache is what the ledger of a host knows of a store: which of its files are as they were,
// and the contents that were ever applied.
type StoreCache struct {
	*ledger.Stamps
	Host host.Options
}

var _ statestore.Cache = StoreCache{}

// Lookup implements [hostfs.Stamps]. With --verify nothing is known.
func (m StoreCache) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	if m.Host.Verify {
		return blob.Digest{}, false
	}
	return m.Stamps.Lookup(path, info)
}

// Blob implements [statestore.Cache].
func (m StoreCache) Blob(sum blob.Digest) ([]byte, error) {
	files, err := host.OpenFiles(m.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.Host.Root, err)
	}
	defer files.Close() // only read from
	return ledger.Blob(files, sum)
}

// Retained implements [statestore.Cache]. With --verify nothing is.
func (m StoreCache) Retained(store string) [][]byte {
	if m.Host.Verify {
		return nil
	}
	files, err := host.OpenFiles(m.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	good, err := ledger.ReadLastGood(files)
	if err != nil || good == nil || good.Store != store {
		return nil
	}
	packed, err := ledger.Blob(files, good.Objects)
	if err != nil {
		return nil
	}
	return remote.Unpack(packed)
}

// Remember gives a store the memory of a host, where it can use one, and returns the stamps that
// both have then. The caller does so once, before anything is fetched; without it everything is
// read.
func Remember(opt host.Options, store statestore.Store) (*ledger.Stamps, error) {
	s, ok := store.(interface{ Remember(statestore.Cache) })
	if !ok {
		return nil, nil
	}
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, err)
	}
	defer files.Close() // only read from
	stamps := ledger.LoadStamps(files)
	s.Remember(StoreCache{stamps, opt})
	return stamps, nil
}
