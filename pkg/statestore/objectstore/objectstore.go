// Package objectstore defines what a published cluster needs from the service that stores it:
// reading an object by its name, without its body where the reader has it already. Packages https
// and s3 implement it. Package remote builds a store from either, and verifies the objects.
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

// Source reads the objects of one cluster. Implementations are safe for concurrent use. Every
// method may be retried, also after the few attempts that a Source makes itself. An error that may
// not occur again is marked graph.Transient. The error for a missing object is fs.ErrNotExist, and
// fs.ErrPermission for an object that the caller may not read. When ctx ends, the error contains
// its cause. No error shows a credential.
type Source interface {
	// Get reads a whole object. It is an error if the object has more than limit bytes. known is
	// the ETag of an earlier answer, or "". If the object still has this ETag, Get returns
	// [ErrNotModified] and transfers no body.
	Get(ctx context.Context, name, known string, limit int64) (Object, error)
	// Open streams an object of any size. size is -1 when it is unknown. The caller closes body and
	// checks its hash.
	Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error)
	// String returns the location of the objects, without credentials.
	String() string
}

// Object is the content that a name had when it was read.
type Object struct {
	Body []byte
	ETag string // as the server sent it, with its quotes; "" if the server sends none, and then each read has a body
}

// Destination is a Source to which a cluster is published. The publisher writes the objects first,
// which never change, and the manifest last. It can list the objects and remove those that no
// manifest needs.
type Destination interface {
	Source
	// Put writes an object. If an object of this name exists, Put succeeds without writing: a name
	// is the hash of the content.
	Put(ctx context.Context, name string, data []byte) error
	// Replace writes an object if its ETag is still known, or, with "", if it does not exist.
	// Otherwise it returns [ErrConflict] and changes nothing.
	Replace(ctx context.Context, name string, data []byte, known string) error
	// List calls each for every object whose name begins with prefix, in no order.
	List(ctx context.Context, prefix string, each func(Listed) error) error
	// Remove removes an object. It succeeds if the object does not exist.
	Remove(ctx context.Context, name string) error
}

// Listed is an object of a list.
type Listed struct {
	Name string
	Size int64     // bytes
	Put  time.Time // time of the last write, by the clock of the store
}

// Watcher is a Source that can wait for a change of an object. Its user needs a poll only in case
// the watch misses a change.
type Watcher interface {
	// Changed waits until the object no longer has the ETag known; known is "" for an object that
	// does not exist. It may return nil too early. It marks its errors as Get does.
	Changed(ctx context.Context, name, known string) error
}

// Confidential is a Destination that stores some objects apart, for only those nodes that use them:
// private keys, and what is below files/.
type Confidential interface {
	// PutConfidential does what Put does, for such an object.
	PutConfidential(ctx context.Context, name string, data []byte) error
}

var (
	// ErrNotModified is the error of Get if the object still has the known ETag.
	ErrNotModified = errors.New("not modified")
	// ErrConflict is the error of Replace if another writer changed the object first.
	ErrConflict = errors.New("another program changed it meanwhile")
)

// Denied returns err with the same text, and makes it match fs.ErrPermission: the caller may not
// read the object.
func Denied(err error) error { return denied{err} }

type denied struct{ error }

func (d denied) Unwrap() []error { return []error{d.error, fs.ErrPermission} }

// LocalError is the error of a file on this machine that a [Source] needs and cannot use. The
// Source sent no request. LocalError does not unwrap its error: a missing local file must not match
// fs.ErrNotExist, which means a missing object.
type LocalError struct{ Err error }

func (e *LocalError) Error() string { return e.Err.Error() }
