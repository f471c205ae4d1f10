// Package statestore defines what every store of node configuration does: what a reader gets, and
// what it may rely on. Package stores opens each kind of store. The suite in package test/storetest
// checks that each kind keeps this contract.
//
// A store has one directory for each cluster. It contains documents and pki files under the names
// of [manifest.Layout], in one of two forms. In a plain directory people write the files
// themselves, and the reader makes the manifest. In a published cluster a manifest names every
// object by its sha256, and only the manifest ever changes. Only the published form lets a
// publisher change several objects without a node reading some old and some new ones. A reader of a
// plain directory gets the documents of one moment, even if a writer has written only some of its
// files by then.
//
// A Store only reads. Package publisher writes to an [objectstore.Destination]. A store protects a
// node from partly changed configurations, from objects that differ from the manifest, from
// symbolic links that lead out of the store and from more data than the node can hold. It does not
// protect from a person who may publish: the signature does.
package statestore

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Store reads the snapshots and assets of one cluster. Implementations are safe for concurrent use.
// Every method may be retried. An error that may not occur again is marked [graph.Transient]. When
// ctx ends, the error contains its cause.
type Store interface {
	// Fetch returns the current snapshot. If its revision is still last, Fetch returns
	// [ErrNotModified], which is cheap. With the zero Revision, Fetch always returns a snapshot.
	// Fetch verifies every object before it returns, and never returns a part of a snapshot.
	Fetch(ctx context.Context, last Revision) (*Snapshot, error)
	// Open opens an asset. name is relative to the cluster's directory, with slashes and without
	// "..". size is -1 when it is unknown. The caller closes body and checks its hash. The error
	// for a missing asset is [fs.ErrNotExist].
	Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error)
	// String returns the location of the store and the cluster, without credentials.
	String() string
}

// Watcher is a Store that can report a change, so that the daemon reads it before the next poll.
type Watcher interface {
	// Changed waits until the store may have changed since the last Fetch, and returns nil then. A
	// store that cannot watch returns [errors.ErrUnsupported] at once. Any other error only says
	// that the watch ended.
	Changed(ctx context.Context) error
}

// ErrNotModified is the error of Fetch if the store's revision is still last.
var ErrNotModified = objectstore.ErrNotModified

// Cache is what a node has stored of earlier reads of a store.
type Cache interface {
	// Stamps let the reader skip files that did not change. It still reads what it has to parse.
	hostfs.Stamps
	// Blob returns a content that the node saved. It serves when the store no longer has it.
	Blob(sum blob.Digest) ([]byte, error)
	// Retained returns the contents that the node saved from its last snapshot of the named store.
	// The caller finds those that it can use by their hashes. It returns nil if there are none.
	Retained(store string) [][]byte
}

// Revision identifies one published state of a cluster.
type Revision struct {
	Generation int64  // number of the publication; 0 if the store does not count publications
	Digest     string // sha256 of the manifest, in hex
}

// Snapshot is one consistent, verified state of a cluster's documents.
type Snapshot struct {
	Revision
	Cluster string
	// Objects are the documents and the pki files. Their paths are relative to the cluster:
	// "cluster.yaml", "nodes/n1.yaml", "pki/issued/calico-client/1.crt". Callers must not change
	// them.
	Objects secret.Contents
	// Files are the objects below files/, sorted by path. Their bytes stay in the store until they
	// are read, and are verified then.
	Files []blob.Named
	// Private are the objects below pki/private that are still in the store, sorted by path.
	// [Snapshot.FetchKeys] reads those that the caller names.
	Private []blob.Named
	// Manifest is the published manifest with its signatures, or the one that the reader made.
	Manifest []byte
	// Published is the time of the publication; zero if the store does not say.
	Published time.Time
	Expires   time.Time // zero if the publication never expires
	// Origin names the source of the snapshot, for messages.
	Origin string
	// Notes name what was found in the store and not used, one line each. The plan and `store
	// check` show them.
	Notes []string

	// Note says who published the snapshot; zero if the publisher did not say.
	Note manifest.Note
	// Verify checks against the manifest the objects that Fetch did not need: the bundle if Fetch
	// read single objects, or the single objects if Fetch read the bundle. Some nodes boot from the
	// bundle and others from single objects, so both must be right. Verify leaves out private keys
	// and what is below files/: Private and Files verify them. It is nil if nothing was published.
	Verify func(ctx context.Context) error
	// ReadByAll reports whether a private key is stored where every node can read it, and not only
	// the control plane nodes. It is nil if nothing was published.
	ReadByAll func(ctx context.Context, name string) (open bool, err error)
	// Seek reads an object that the store did not list; nil if the store listed all.
	Seek func(name string) ([]byte, error)
}

// ErrChanged is the error of a plain directory that changed while it was read.
var ErrChanged = errors.New("it kept changing while it was read: write each file aside and rename it, or publish")
