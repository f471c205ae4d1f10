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

// LastGood is the newest configuration of a store that was verified and could be read. The node
// uses it while the store is not reachable. It also records what the node took last, so that the
// node refuses an older generation. A rename replaces it after the blobs that it names are written.
type LastGood struct {
	Store      string      `json:"store"` // name of the store, with the cluster
	Cluster    string      `json:"cluster"`
	Generation int64       `json:"generation"` // 0 from a plain directory
	Digest     string      `json:"digest"`     // of the manifest's JSON
	Taken      time.Time   `json:"taken"`
	Manifest   blob.Digest `json:"manifest"` // blob with the manifest as it was in the store, with its signatures
	Objects    blob.Digest `json:"objects"`  // blob with the objects that the node has read, including keys
	Names      int         `json:"names"`    // number of objects
}

// ReadLastGood returns nil if there is none, or if this user may not read it. If an intact file may
// exist, the error is that of [host.Unread].
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
		return nil, fmt.Errorf("%s: %w: the node needs its store until the agent has written this file again", lastGoodFile, err)
	}
	return g, nil
}

// Intact reports whether both blobs exist and are undamaged.
func (g *LastGood) Intact(r Reader) bool {
	_, err := Blob(r, g.Manifest)
	_, err2 := Blob(r, g.Objects)
	return errors.Join(err, err2) == nil
}

// SaveLastGood replaces the last good configuration. If it is killed, the old or the new one is
// there, whole.
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
	for _, b := range blobs { // saveContents would not replace a damaged blob
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
