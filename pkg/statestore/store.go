// Package statestore reads a node's configuration from where it is kept: a
// directory now; S3, HTTPS and the Kubernetes API plug into the same contract
// and the same conformance suite (package storetest).
package statestore

import (
	"context"
	"errors"
	"io"
)

// Store is where snapshots and assets come from. Implementations are safe for
// several goroutines. Every method may be retried; errors of the network are
// marked transient by the caller's classification (see [IsTransient]).
type Store interface {
	// Fetch returns the snapshot, or NotModified when its revision is last. The
	// zero Revision always gets a snapshot. Everything is verified before it is
	// returned.
	Fetch(ctx context.Context, last Revision) (*Snapshot, error)
	// Open returns an asset by its name below the cluster's directory. Size is -1 when unknown.
	Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error)
	// String names the store without credentials.
	String() string
}

// ErrNotModified is returned by Fetch when the store has nothing newer than last.
var ErrNotModified = errors.New("not modified")

// Revision identifies one published state of a cluster.
type Revision struct {
	Generation int64  // counts what the store published; 0 when it does not count
	Digest     string // sha256 over the manifest, hex
}

// Snapshot is one consistent, verified state of a cluster's documents.
type Snapshot struct {
	Revision
	Cluster string
	// Objects are the documents and the pki files by path relative to the
	// cluster: "cluster.yaml", "nodes/n1.yaml", "pki/issued/calico-client/1.crt".
	Objects map[string][]byte
	// Origin says where it came from, for messages.
	Origin string
}
