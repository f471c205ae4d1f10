package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// wanted is an object to read.
type wanted struct {
	name string // of the object
	path string // of its file, below the cluster's directory
	seen *stamp // stamp of the file; nil if it was not listed
}

// readAll reads and hashes objects on all processors, because a store may have thousands.
func (d *Directory) readAll(ctx context.Context, root *os.Root, all []wanted) []content {
	out := make([]content, len(all))
	inShares(len(all), func(from, to int) {
		r := reader{root: root, cluster: d.cluster, prefix: d.dir + "/" + d.cluster + "/", cache: d.cache}
		defer r.leave()
		for i := from; i < to && ctx.Err() == nil; i++ {
			out[i] = r.read(all[i], manifest.MaxObjectSize)
		}
	})
	return out
}

// readOne reads a file whose digest was sum when it was listed.
func (d *Directory) readOne(name string, sum blob.Digest) ([]byte, error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := reader{root: root, cluster: d.cluster}
	defer r.leave()
	switch c := r.read(wanted{path: name}, manifest.MaxObjectSize); {
	case c.err != nil:
		return nil, c.err
	case c.sum != sum:
		return nil, fmt.Errorf("%q has changed since it was listed: the next pass reads it again", name)
	default:
		return c.data, nil
	}
}

// reader reads files one after the other. It leaves the directory of the last file open, because
// opening each part of a path costs system calls.
type reader struct {
	root    *os.Root
	cluster string
	prefix  string           // of a file's path in the cache
	cache   statestore.Cache // nil for none
	in      string           // path of the open directory
	at      *os.Root
	buf     []byte // buffer for files that are only hashed
}

// read reads a file below the cluster's directory, of at most limit bytes.
func (r *reader) read(w wanted, limit int64) content {
	if manifest.IsFile(w.name) && w.seen != nil {
		if sum, ok := r.cached(w.path, *w.seen); ok {
			return content{sum: sum, stamp: *w.seen}
		}
	}
	f, before, err := r.open(w.path)
	if err != nil {
		return content{err: explain("read", w.path, err)}
	}
	defer f.Close()
	if before.size > limit {
		return content{err: manifest.TooBig(w.path, before.size)}
	}
	if !manifest.IsFile(w.name) {
		return slurp(f, w.path, make([]byte, before.size), before)
	}
	if sum, ok := r.cached(w.path, before); ok {
		return content{sum: sum, stamp: before}
	}
	// otherwise a later change may leave the stamp as it is
	settled := r.cache != nil && hostfs.AwaitTick(before.info()) &&
		!hostfs.OfImage(int(f.Fd()), before.info())
	if int64(cap(r.buf)) < before.size {
		r.buf = make([]byte, before.size+4096)
	}
	c := slurp(f, w.path, r.buf[:before.size], before)
	c.data = nil
	if settled && c.err == nil && !c.changed {
		r.cache.Record(r.prefix+w.path, before.info(), c.sum)
	}
	return c
}

// slurp reads a file into a buffer of the file's size, and hashes it.
func slurp(f *os.File, name string, data []byte, before stamp) content {
	c := content{stamp: before}
	n, err := io.ReadFull(f, data)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
	case err != nil:
		c.err = explain("read", name, err)
	}
	c.changed = seenAs(f.Stat()).stamp != before
	c.data, c.sum = data[:n], sha256.Sum256(data[:n])
	return c
}

// cached looks the digest of a file up in the cache.
func (r *reader) cached(name string, s stamp) (blob.Digest, bool) {
	if r.cache == nil {
		return blob.Digest{}, false
	}
	return r.cache.Lookup(r.prefix+name, s.info())
}

// open opens a regular file. It does not block if the name is a pipe.
func (r *reader) open(name string) (*os.File, stamp, error) {
	full := path.Join(r.cluster, name)
	in, base := path.Split(full)
	if r.at == nil || in != r.in {
		r.leave()
		dir, err := r.root.OpenRoot(path.Clean(in) + "/") // as openRoot
		if err != nil {
			return nil, stamp{}, err
		}
		r.in, r.at = in, dir
	}
	f, err := hostpath.OpenQuietly(r.at, base)
	if escapes(err) { // a link out of this directory may still be within the store
		f, err = hostpath.OpenQuietly(r.root, full)
	}
	if err != nil {
		return nil, stamp{}, err
	}
	e := seenAs(f.Stat())
	if e.err == nil && !e.mode.IsRegular() {
		e.err = fmt.Errorf("it is a %s, a file is expected", blob.TypeWord(e.mode))
	}
	if e.err != nil {
		return nil, stamp{}, errors.Join(e.err, f.Close())
	}
	return f, e.stamp, nil
}

func (r *reader) leave() {
	if r.at != nil {
		r.at.Close()
		r.at = nil
	}
}
