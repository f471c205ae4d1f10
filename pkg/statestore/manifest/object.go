package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Object is one entry of a manifest. Its content is at objects/sha256/<SHA256>, or at
// objects/control-plane/<SHA256> if only control plane nodes may read it. The manifest does not say
// which of the two, because agents of earlier releases refuse an unknown field.
type Object struct {
	SHA256 string `json:"sha256"` // hex, lower case
	Size   int64  `json:"size"`   // bytes
}

// objectOf returns the entry for data.
func objectOf(data []byte) Object { return Object{SHA256: trust.Digest(data), Size: int64(len(data))} }

// Path is where the object's content is, relative to the cluster.
func (o Object) Path() string { return path.Join(ObjectsDir, o.SHA256) }

// ControlPlanePath is where the content is if only control plane nodes may read it.
func (o Object) ControlPlanePath() string { return path.Join(ControlPlaneDir, o.SHA256) }

// ValidDigest reports whether s is a sha256 in lower-case hex.
func ValidDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == s
}

// Digest returns the sha256 of an entry that [Manifest.Check] accepted.
func (o Object) Digest() (digest blob.Digest) {
	_, _ = hex.Decode(digest[:], []byte(o.SHA256))
	return digest
}

// Stored returns a content that stays in the store until read reads it.
func (o Object) Stored(read func() ([]byte, error)) blob.Content {
	return blob.Stored(o.Size, o.Digest(), read)
}

// Verify returns an error if a content's size or hash differs from the entry.
func (o Object) Verify(name string, size int64, sum blob.Digest) error {
	is := hex.EncodeToString(sum[:])
	if size == o.Size && is == o.SHA256 {
		return nil
	}
	return problem.StoreDamaged.Errorf("object %q is not what the manifest says: %d bytes with sha256 %s, expected %d "+
		"with %s: it was damaged or tampered with, publish again",
		name, size, is, o.Size, o.SHA256)
}

// VerifyBytes does what Verify does, for data.
func (o Object) VerifyBytes(name string, data []byte) error {
	return o.Verify(name, int64(len(data)), sha256.Sum256(data))
}

// Read reads an object that every node may read, and verifies it against the manifest.
func (m *Manifest) Read(ctx context.Context, from objectstore.Source, name string, o Object) ([]byte, error) {
	got, err := from.Get(ctx, o.Path(), "", o.Size)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.StoreDamaged.Errorf("object %q of generation %d is missing: publish again: %w", name,
			m.Generation, err)
	}
	if err != nil {
		return nil, err
	}
	return got.Body, o.VerifyBytes(name, got.Body)
}

// ReadByAll reports whether an object is stored where every node can read it. It returns false if
// the caller may not read that place.
func (o Object) ReadByAll(ctx context.Context, in objectstore.Source) (bool, error) {
	_, err := in.Get(ctx, o.Path(), "", MaxObjectSize)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}
