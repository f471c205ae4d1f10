// Package statestore is the contract of a place that keeps the configuration of nodes: what is read
// from it, and what a reader may rely on. Package stores opens each kind, package test/storetest is
// the suite that holds them all to the contract.
//
// A store holds clusters. Each has documents and pki files under the names of [manifest.Layout],
// either as people write them (a plain directory, for which a manifest is made up) or published: a
// manifest that names every object by its sha256, and is the only object that changes. Only the
// published form can be changed in several places at once without a node seeing half of it; in a
// plain directory a reader sees the documents as they were at one moment, whatever its writers had
// done by then.
//
// Stores are only read; package publisher writes to a Sink, which is another thing. A store
// protects from torn reads, from objects that are not what the manifest says, from symbolic links
// that leave it and from being too big for a node. It does not protect from whoever may publish:
// that is the signature's part.
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

// Store is where the snapshots and assets of one cluster come from. Implementations are safe for
// several goroutines. Every method may be retried; an error that another attempt may not meet is
// marked [graph.Transient]. When ctx ends, its cause is in the error.
type Store interface {
	// Fetch returns the snapshot, or [ErrNotModified] when its revision is last: then it is cheap.
	// The zero Revision always gets a snapshot. Everything is verified before it is returned, and
	// nothing is returned by halves.
	Fetch(ctx context.Context, last Revision) (*Snapshot, error)
	// Open returns an asset by its name below the cluster's directory, with slashes and without
	// "..". Size is -1 when unknown. The caller closes body, and checks its hash. Absent is
	// [fs.ErrNotExist].
	Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error)
	// String names the store and the cluster, without credentials.
	String() string
}

// Watcher is a Store that can say when it has something new, so that a daemon need not wait for its
// next look.
type Watcher interface {
	// Changed waits until the store may have something else than the last Fetch met, and returns
	// nil. A store that cannot say so returns [errors.ErrUnsupported] at once. Any other error says
	// only that nobody is watching now.
	Changed(ctx context.Context) error
}

// ErrNotModified is returned by Fetch when the store has nothing newer than last.
var ErrNotModified = objectstore.ErrNotModified

// Cache is what a reader of a store may know from earlier runs.
type Cache interface {
	// Stamps spare it to read files that are as they were. What is parsed is always read.
	hostfs.Stamps
	// Blob is a content that the node has kept itself, for when the store has it no longer.
	Blob(sum blob.Digest) ([]byte, error)
	// Retained are the contents that the node has kept of what it took from a store last, for who
	// holds them against their hashes; nil: none. store is the store's name.
	Retained(store string) [][]byte
}

// Revision identifies one published state of a cluster.
type Revision struct {
	Generation int64  // counts what the store published; 0 when it does not count
	Digest     string // sha256 over the manifest, hex
}

// Snapshot is one consistent, verified state of a cluster's documents.
type Snapshot struct {
	Revision
	Cluster string
	// Objects are the documents and the pki files by path relative to the cluster: "cluster.yaml",
	// "nodes/n1.yaml", "pki/issued/calico-client/1.crt". Callers do not change them.
	Objects secret.Contents
	// Files are the objects below files/, sorted by path. Their bytes stay in the store, and are
	// verified when they are read.
	Files []blob.Named
	// Private are the objects below pki/private that were left in the store, sorted by path, until
	// [Snapshot.FetchKeys] says which are wanted.
	Private []blob.Named
	// Manifest is that of the objects as it was read, with its signatures, or as it was made up.
	Manifest []byte
	// Published is when it was published; zero: nobody says.
	Published time.Time
	Expires   time.Time // zero: never
	// Origin says where it came from, for messages.
	Origin string
	// Notes say what was found and not used, one line each, for the plan and for `store check`.
	Notes []string

	// Note says who published it; the zero Note: nobody says.
	Note manifest.Note
	// Verify holds what the snapshot is not made of against the manifest too: the bundle, where the
	// objects were read one by one, and each object by itself where the bundle was read. Some node
	// boots from one of them, and others need the other. Private keys and what is below files/ are
	// read by Private and Files. Nil: nothing was published.
	Verify func(ctx context.Context) error
	// ReadByAll reports whether a private key is where every node reads, not control plane nodes
	// alone. Nil: nothing was published.
	ReadByAll func(ctx context.Context, name string) (open bool, err error)
	// Seek reads an object that was not listed; nil: all were.
	Seek func(name string) ([]byte, error)
}

// ErrChanged says that the store changed while it was read.
var ErrChanged = errors.New("it kept changing while it was read: write each file aside and rename it, or publish")
