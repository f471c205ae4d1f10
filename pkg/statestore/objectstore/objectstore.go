// Package objectstore is what a published cluster needs of whatever keeps it: to read an object by
// its name, and not to be sent again what it knows. HTTPS and S3 are packages beside it; package
// statestore makes a store of either, and verifies what comes.
//
// Names are relative to the cluster: "manifest", "objects/sha256/…", "objects/control-plane/…",
// "assets/…".
package objectstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Source is where the objects of one cluster are read. Implementations are safe for several
// goroutines. Every method may be retried, after the few attempts that a Source makes itself. An
// error that may pass is marked graph.Transient; an absent object is fs.ErrNotExist, and one that
// the caller may not read fs.ErrPermission. When ctx ends, its cause is in the error. No error
// shows a credential.
type Source interface {
	// Get reads a whole object of at most limit bytes; more is an error. known is the ETag of an
	// earlier answer, or "": an object that still has it is [ErrNotModified], and costs a request
	// without a body.
	Get(ctx context.Context, name, known string, limit int64) (Object, error)
	// Open streams an object of any size, which is -1 when unknown. The caller closes body, and
	// checks its hash.
	Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error)
	// String is where the objects are, as it may be printed.
	String() string
}

// Object is what a name had when it was read.
type Object struct {
	Body []byte
	ETag string // as it came, with its quotes; "" when the server gives none, and then every read has a body
}

// Destination is where a cluster is published: objects first, which are never changed, and the
// manifest last. What nobody needs any more can be listed and removed.
type Destination interface {
	Source
	// Put writes an object unless one of its name is there, which is success: names are hashes of
	// what they name.
	Put(ctx context.Context, name string, data []byte) error
	// Replace writes an object if it still has the ETag known, or, with "", if there is none. Else
	// it is [ErrConflict], and nothing is changed.
	Replace(ctx context.Context, name string, data []byte, known string) error
	// List calls each with every object whose name begins with prefix, in no order.
	List(ctx context.Context, prefix string, each func(Listed) error) error
	// Remove removes an object. One that is not there is success.
	Remove(ctx context.Context, name string) error
}

// Listed is an object of a list.
type Listed struct {
	Name string
	Size int64     // bytes
	Put  time.Time // when it was last written, by the store's own clock
}

// Watcher is a Source that can say when an object changes. Who has it needs no poll to be quick,
// and one now and then to be sure.
type Watcher interface {
	// Changed waits until an object no longer has the ETag known; "" is an object that is not
	// there. It may return nil early, and its error is marked as those of Get are.
	Changed(ctx context.Context, name, known string) error
}

// Confidential is a Sink that keeps objects apart which only those nodes should read that use them:
// private keys, and what is below files/.
type Confidential interface {
	// PutConfidential is Put for such an object.
	PutConfidential(ctx context.Context, name string, data []byte) error
}

var (
	// ErrNotModified says that an object is as it was.
	ErrNotModified = errors.New("not modified")
	// ErrConflict says that somebody else was first.
	ErrConflict = errors.New("it was changed by somebody else meanwhile")
)

// Denied marks the error of an object that who asks may not read as fs.ErrPermission. Its text
// stays.
func Denied(err error) error { return denied{err} }

type denied struct{ error }

func (d denied) Unwrap() []error { return []error{d.error, fs.ErrPermission} }

// LocalError is a file of this machine that a [Source] needs and cannot use: no server was asked.
// It does not unwrap, so that a file that is missing is not taken for an absent object.
type LocalError struct{ Err error }

func (e *LocalError) Error() string { return e.Err.Error() }
