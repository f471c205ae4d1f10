package publisher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// pruning is the content of the object that says who prunes a cluster. Its JSON form is a file
// format.
type pruning struct {
	By    string    `json:"by"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"`
}

// maxPruning is the maximum size of that object in bytes.
const maxPruning = 4 << 10

// fence makes sure that no publication runs during a prune of the same cluster: see [Prune].
type fence struct {
	to   objectstore.Destination
	etag string // of the object manifest.PruneName; "" if there is none
}

// newFence returns an error if a prune is running. A publication must wait until it has ended.
func newFence(ctx context.Context, to objectstore.Destination) (*fence, error) {
	etag, now, err := pruned(ctx, to)
	if err != nil {
		return nil, err
	}
	if now.active() {
		return nil, fmt.Errorf("%s: publish when that has ended; if it was killed, `agent store prune --take-over` "+
			"ends it", now)
	}
	return &fence{to, etag}, nil
}

// record stores the manifest as the record of its generation. From then on no prune removes the
// objects that the manifest names. A generation may have several records, one of which was
// published.
func (g *fence) record(ctx context.Context, m *manifest.Manifest, statement []byte) error {
	if m.Generation == 0 {
		return nil
	}
	return g.to.Put(ctx, recordName(m, statement), statement)
}

// prove stores the record of the new manifest, and returns an error unless the store obeys the
// condition of a write that protects the manifest. It replaces the record on condition that its
// ETag is known, which is the ETag of the manifest and so never that of the record. A store that
// obeys refuses. A store that ignores the condition writes the same bytes again, which does no
// harm.
func (g *fence) prove(ctx context.Context, m *manifest.Manifest, statement []byte, known string) error {
	if err := g.record(ctx, m, statement); err != nil {
		return err
	}
	switch err := g.to.Replace(ctx, recordName(m, statement), statement, known); {
	case err == nil:
		return errors.New("the store ignores conditional writes (If-Match and If-None-Match of a PUT), so two " +
			"publishers could overwrite each other's work: update the store's server to one that supports them, or " +
			"publish to another store")
	case !errors.Is(err, objectstore.ErrConflict):
		return fmt.Errorf("test whether the store supports conditional writes: %w", err)
	}
	return nil
}

// check returns an error if a prune has begun since newFence, even if it has ended.
func (g *fence) check(ctx context.Context) error {
	switch etag, now, err := pruned(ctx, g.to); {
	case err != nil:
		return err
	case etag != g.etag:
		return fmt.Errorf("%s, and may have removed what this was to name: publish again", now)
	}
	return nil
}

// recordName returns the name of the record of a manifest.
func recordName(m *manifest.Manifest, statement []byte) string {
	return path.Join(manifest.GenerationsDir, fmt.Sprintf("%d-%s", m.Generation, trust.Digest(statement)))
}

// pruned returns the prune that runs now, or that ran last.
func pruned(ctx context.Context, from objectstore.Source) (etag string, p pruning, err error) {
	got, err := from.Get(ctx, manifest.PruneName, "", maxPruning)
	if errors.Is(err, fs.ErrNotExist) {
		return "", p, nil
	}
	if err != nil {
		return "", p, err
	}
	if got.ETag == "" {
		return "", p, errors.New("the store returns no ETag, so a prune cannot be told from another: publish to " +
			"another store")
	}
	if err := json.Unmarshal(got.Body, &p); err != nil || p.Began.IsZero() {
		return "", p, fmt.Errorf("object %q does not say who prunes: remove the object if no prune is "+
			"running", manifest.PruneName)
	}
	return got.ETag, p, nil
}

func (p pruning) active() bool { return !p.Began.IsZero() && p.Ended.IsZero() }

func (p pruning) encode() []byte {
	out, _ := json.MarshalIndent(p, "", "  ") // these types always have a JSON form
	return append(out, '\n')
}

// String describes the prune in a message.
func (p pruning) String() string {
	if p.active() {
		return fmt.Sprintf("%s prunes it since %s", p.By, p.Began.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s pruned it from %s to %s", p.By, p.Began.UTC().Format(time.RFC3339),
		p.Ended.UTC().Format(time.RFC3339))
}

// pruneLock is the lock of a running prune.
type pruneLock struct {
	to   objectstore.Destination
	etag string
	mark pruning
	at   time.Time // of the lock, by the clock of the store
}

// lockPrune takes the lock by writing the object that says who prunes.
func lockPrune(ctx context.Context, to objectstore.Destination, p Pruning) (*pruneLock, error) {
	etag, now, err := pruned(ctx, to)
	if err != nil {
		return nil, err
	}
	if now.active() && !p.TakeOver {
		return nil, fmt.Errorf("%s: wait until that has ended; if it was killed, take over with --take-over", now)
	}
	h := &pruneLock{to: to, mark: pruning{By: p.By, Began: p.Now}}
	if err := to.Replace(ctx, manifest.PruneName, h.mark.encode(), etag); err != nil {
		if errors.Is(err, objectstore.ErrConflict) {
			return nil, fmt.Errorf("another prune began meanwhile: wait until it has ended: %w", err)
		}
		return nil, err
	}
	got, err := to.Get(ctx, manifest.PruneName, "", maxPruning)
	switch {
	case err != nil:
		return nil,
			fmt.Errorf("%w: nothing was removed; nobody can publish until you prune again with --take-over", err)
	case string(got.Body) != string(h.mark.encode()):
		return nil, errors.New("another prune took over: find out who prunes")
	}
	h.etag = got.ETag
	err = to.List(ctx, manifest.PruneName, func(o objectstore.Listed) error {
		if o.Name == manifest.PruneName {
			h.at = o.Put
		}
		return nil
	})
	if err == nil && h.at.IsZero() {
		err = fmt.Errorf("the store does not list object %q, which was just written: check that the store lists all "+
			"of its objects",
			manifest.PruneName)
	}
	if err != nil {
		return nil, errors.Join(err, h.unlock(ctx))
	}
	return h, nil
}

// check returns an error if another prune took over the lock.
func (h *pruneLock) check(ctx context.Context) error {
	_, err := h.to.Get(ctx, manifest.PruneName, h.etag, maxPruning)
	switch {
	case errors.Is(err, objectstore.ErrNotModified):
		return nil
	case err == nil:
		return errors.New("another prune took over: find out who prunes")
	}
	return err
}

// unlock records that the prune has ended. Prune calls it also after an error.
func (h *pruneLock) unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), pruneBatchLimit,
		errors.New("the store takes too long"))
	defer cancel()
	h.mark.Ended = time.Now()
	err := h.to.Replace(ctx, manifest.PruneName, h.mark.encode(), h.etag)
	if err != nil && !errors.Is(err, objectstore.ErrConflict) { // whoever took over the lock ends it
		return fmt.Errorf("record that the prune has ended, without which nobody can publish: %w: prune again with "+
			"--take-over",
			err)
	}
	return nil
}
