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

// LastGood returns the configuration that the node took last. A pass uses it when the store cannot
// be reached or has unusable documents. LastGood verifies its hashes and its signature again with
// the keys that the node trusts, but ignores its expiry. why is the store's error. LastGood
// returns that error if there is no last good configuration, joined with the reason if it is
// known.
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
			return nil, fmt.Errorf("%w; and the last good configuration cannot be read: %w", why, err)
		}
		return nil, why
	}
	d, err := r.LoadCached(ctx, files, good, sel)
	if err != nil && err.Error() == why.Error() {
		return nil, fmt.Errorf("%w; and the last good configuration cannot be used for the same reason", why)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; and the last good configuration cannot be used: %w", why, err)
	}
	d.Taken = good.Taken
	d.Because(why)
	return d, nil
}

// LoadCached loads the configuration that the ledger keeps.
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

// save records the configuration of a pass, so that the node can work without the store. It runs
// at the end of the pass. Until then the ledger has the earlier one.
func (r Rollout) save(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) error {
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

// Seen returns the newest generation that the node has had from a store. [trust.Policy] refuses
// older ones. Where trusted keys are configured, a generation that waits counts too: otherwise a
// person who can write to the store could revoke a freeze by restoring what was there before it. A
// generation that was signed only by a key that is not trusted any more does not count, because
// the holder of that key may have forged it.
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
		return trust.Seen{}, nil // its reader reports that it is damaged
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

// trusted returns the IDs of the keys that may sign.
func (r Rollout) trusted() (ids []string) {
	if r.Trust == nil {
		return nil
	}
	for _, k := range r.Trust.Keys {
		ids = append(ids, trust.ID(k.Public.ID()))
	}
	return ids
}

// CachedCluster returns the cluster that the node took last from the store in a directory, or ""
// if there is none. A caller uses it if no cluster is configured and the directory cannot be
// listed.
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
