package statestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// content is a file's bytes and their sha256 in hex, and what stat said of the file before it was read; or why they cannot be had.
type content struct {
	data []byte
	sum  string
	stamp
	err error
}

// readAll reads and hashes files below the cluster's directory, by name, on all processors: a store may have thousands.
func (d *Directory) readAll(ctx context.Context, root *os.Root, names []string) []content {
	out := make([]content, len(names))
	inShares(len(names), func(from, to int) {
		r := reader{root: root, cluster: d.cluster}
		defer r.leave()
		for i := from; i < to && ctx.Err() == nil; i++ {
			out[i] = r.read(names[i], MaxObjectSize)
		}
	})
	return out
}

// inShares calls do for neighbouring parts of n things, on as many processors as there are. A handful of things is done sooner than a
// goroutine starts.
func inShares(n int, do func(from, to int)) {
	var others sync.WaitGroup
	shares := min(runtime.GOMAXPROCS(0), n/64+1)
	for s := 1; s < shares; s++ {
		others.Go(func() { do(s*n/shares, (s+1)*n/shares) })
	}
	do(0, n/shares)
	others.Wait()
}

// reader reads files one after the other. It keeps the directory of the last one open: each part of a path costs system calls.
type reader struct {
	root    *os.Root
	cluster string
	in      string // the directory that is open
	dir     *os.Root
}

// read returns a file below the cluster's directory, of at most limit bytes.
func (r *reader) read(name string, limit int64) content {
	f, before, err := r.open(name)
	if err != nil {
		return content{err: explain("read", name, err)}
	}
	defer f.Close()
	if before.size > limit {
		return content{err: tooBig(name, before.size)}
	}
	data := make([]byte, before.size)
	switch n, err := io.ReadFull(f, data); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		data = data[:n] // it shrank under us: whoever asked knows its size or its hash
	case err != nil:
		return content{err: explain("read", name, err)}
	}
	return content{data: data, sum: sum(data), stamp: before}
}

// open opens a regular file; it does not hang on a pipe that somebody put there.
func (r *reader) open(name string) (*os.File, stamp, error) {
	full := path.Join(r.cluster, name)
	in, base := path.Split(full)
	if r.dir == nil || in != r.in {
		r.leave()
		dir, err := r.root.OpenRoot(path.Clean(in))
		if err != nil {
			return nil, stamp{}, err
		}
		r.in, r.dir = in, dir
	}
	const flags = os.O_RDONLY | unix.O_NONBLOCK
	f, err := r.dir.OpenFile(base, flags, 0)
	if escapes(err) { // a link out of this directory may stay within the store
		f, err = r.root.OpenFile(full, flags, 0)
	}
	if err != nil {
		return nil, stamp{}, err
	}
	e := seenAs(f.Stat())
	if e.err == nil && !e.mode.IsRegular() {
		e.err = fmt.Errorf("it is a %s, a file is expected", typeWord(e.mode))
	}
	if e.err != nil {
		return nil, stamp{}, errors.Join(e.err, f.Close())
	}
	return f, e.stamp, nil
}

func (r *reader) leave() {
	if r.dir != nil {
		r.dir.Close()
		r.dir = nil
	}
}
