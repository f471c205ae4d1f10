package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
)

const lastGoodFile = Dir + "/last-good.json"

// LastGood is the newest configuration of a store that was verified and could be read, for when the
// store cannot be had; and the memory of what was taken from it last, behind which it must not go
// back. It is replaced by one rename, after what it names is there.
type LastGood struct {
	Store      string      `json:"store"` // as the store names itself, with the cluster
	Cluster    string      `json:"cluster"`
	Generation int64       `json:"generation"` // 0 of a plain directory
	Digest     string      `json:"digest"`     // of the manifest's JSON
	Taken      time.Time   `json:"taken"`
	Manifest   blob.Digest `json:"manifest"` // a blob: as it was in the store, with its signatures
	Objects    blob.Digest `json:"objects"`  // a blob: the objects that the node has read of it, keys among them
	Names      int         `json:"names"`    // how many
}

// ReadLastGood returns nil where there is none, and to a user from whom it is kept. Of one that may
// be there, whole, the error is as of [host.Unread].
func ReadLastGood(r Reader) (*LastGood, error) {
	data, err := r.ReadFile(lastGoodFile)
	if isMissing(err) {
		return nil, nil
	}
	if host.Unread(err) {
		return nil, err
	}
	g := new(LastGood)
	if err == nil {
		err = json.Unmarshal(data, g)
	}
	if err == nil && (g.Store == "" || g.Manifest == blob.Digest{} || g.Objects == blob.Digest{}) {
		err = errors.New("it is not whole")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: without it the node cannot do without its store; it is written again from the "+
			"store", lastGoodFile, err)
	}
	return g, nil
}

// Intact says that what it names is there, whole.
func (g *LastGood) Intact(r Reader) bool {
	_, err := Blob(r, g.Manifest)
	_, err2 := Blob(r, g.Objects)
	return errors.Join(err, err2) == nil
}

// SaveLastGood puts a configuration in the place of the last good one. Killed anywhere, the old one
// or the new one is there, whole.
func (l *Ledger) SaveLastGood(ctx context.Context, w Host, g LastGood, manifest, objects []byte) error {
	blobs := []blob.Content{blob.Of(manifest), blob.Of(objects)}
	g.Manifest, g.Objects = blobs[0].Sum, blobs[1].Sum
	data, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode the last good configuration: %w", err)
	}
	if err := w.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return fmt.Errorf("keep the last good configuration: %w", err)
	}
	for _, b := range blobs { // one that was damaged would stay
		if _, err := Blob(w, b.Sum); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if err := w.Remove(blobDir + "/" + b.Sum.String()); err != nil {
				return fmt.Errorf("keep the last good configuration: %w", err)
			}
		}
	}
	if err := saveContents(ctx, w, Batch{Blobs: blobs}); err != nil {
		return err
	}
	if err := write(ctx, w, lastGoodFile, slices.Concat(data, []byte("\n"))); err != nil {
		return fmt.Errorf("keep the last good configuration: %w", err)
	}
	return l.Tidy(w)
}
