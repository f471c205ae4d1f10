// Package fetch downloads archives beside the passes of a daemon.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs/spool"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// The daemon downloads archives beside its passes. A pass reads a download as its bytes arrive, for
// a short time. After that its key waits and the pass ends. Another pass follows when the download
// is complete. No content is used before its hash is known to be right.

// These are the times for downloads beside a pass.
const (
	fetchEarly = 20 * time.Second       // the wait of a pass before READY, while kubelet waits too
	fetchBrief = 300 * time.Millisecond // the wait of a pass after READY
	fetchAgain = time.Minute            // how long a server that failed is not asked again
	cacheTime  = time.Hour              // how long a download that nobody reads is kept
)

// Limit is how long a download may take. It allows for a slow mirror. If a mirror sends nothing at
// all, its read ends earlier.
const Limit = 15 * time.Minute

var errFetchLate = fmt.Errorf("it took longer than %s", Limit)

// Aside downloads what passes open, in goroutines of its own.
type Aside struct {
	Inner tasks.Fetcher
	host  host.Options
	local bool        // the store is a directory of this machine
	early func() bool // reports whether READY was not said yet

	bounded func() (context.Context, context.CancelFunc) // returns a context that ends with the daemon
	stop    context.CancelCauseFunc
	all     sync.WaitGroup
	came    chan struct{} // receives a value when a download has ended that a pass did not wait for

	mu         sync.Mutex
	downloads  map[wanted]*download
	prefetched map[string]bool // the URLs for which MayPrefetch returned true
}

// wanted is a URL and the checksum that its content must have; "": any. Two assets may name the
// same URL, and documents may change a checksum.
type wanted struct {
	url string
	sum archive.Checksum
}

var _ tasks.Fetcher = (*Aside)(nil)

// New returns an Aside that downloads with inner into temporary files of the host, until it is
// closed. store is the address of the store. early reports whether READY was not said yet.
func New(ctx context.Context, inner tasks.Fetcher, opt host.Options, store string, early func() bool) *Aside {
	a := &Aside{
		Inner: inner, host: opt, local: !strings.Contains(store, "://"),
		early: early, came: make(chan struct{}, 1), downloads: map[wanted]*download{},
		prefetched: map[string]bool{},
	}
	ctx, a.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	a.bounded = func() (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, Limit, errFetchLate)
	}
	return a
}

// Close ends all downloads. The daemon calls it when it stops.
func (a *Aside) Close() {
	if a == nil {
		return
	}
	a.stop(errors.New("the daemon stops"))
	a.all.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.downloads {
		a.drop(key)
	}
	a.all.Wait()
}

// Ended returns a channel that receives a value when a download is complete or has failed.
func (a *Aside) Ended() <-chan struct{} {
	if a == nil {
		return nil
	}
	return a.came
}

// Notify makes the daemon's loop start a pass with what was downloaded.
func (a *Aside) Notify() {
	select {
	case a.came <- struct{}{}:
	default: // a pass is requested already
	}
}

// ofThisMachine reports whether a URL is read from this machine's disk.
func (a *Aside) ofThisMachine(url string) bool {
	return strings.HasPrefix(url, "file://") || a.local && !strings.Contains(url, "://")
}

// Open implements [tasks.Fetcher].
func (a *Aside) Open(ctx context.Context, url string) (body io.ReadCloser, size int64, err error) {
	if a.ofThisMachine(url) {
		return a.Inner.Open(ctx, url)
	}
	d, err := a.download(url, archive.Wanted{})
	if err != nil {
		return a.Inner.Open(ctx, url) // there is no room for a temporary file yet, or none of that kind
	}
	patience := fetchBrief
	if a.early() {
		patience = fetchEarly
	}
	r := &reading{ended: ctx.Done(), why: func() error { return context.Cause(ctx) }, of: a, d: d,
		timeout: time.NewTimer(patience)}
	if err := r.opened(); err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	return r, -1, nil
}

// begin starts the download of a URL if there is none. It returns whether the download is complete,
// or why it failed. A complete download has the wanted checksum. No pass waits until that is known.
func (a *Aside) begin(url string, want archive.Wanted) (there bool, err error) {
	if a.ofThisMachine(url) {
		return true, nil
	}
	d, err := a.download(url, want)
	if err != nil {
		return true, nil // it is downloaded when it is read
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = true
	return d.over, d.err
}

// download returns the download of a URL with a checksum, and starts one if there is none. A want
// without a checksum takes an existing download of the URL, and prefers one that is right.
func (a *Aside) download(url string, want archive.Wanted) (*download, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, d := range a.downloads {
		if d.now().stale() {
			a.drop(key)
		}
	}
	key := wanted{url, want.Sum}
	for _, known := range []wanted{key, {url: url}} { // the second was begun before READY, when a pass opened it
		if d := a.downloads[known]; d != nil {
			return d, nil
		}
	}
	if d := a.likeliest(url); want.Sum == "" && d != nil {
		return d, nil
	}
	file, err := spool.Open(a.host.Files(), ledger.Dir)
	if err != nil {
		return nil, err
	}
	d := &download{wanted: key, spool: file, progress: progress{more: make(chan struct{})}}
	var check *archive.Check
	if want.Sum != "" {
		check = archive.NewCheck(want)
	}
	ctx, stop := a.bounded()
	d.stop, a.downloads[key] = stop, d
	a.all.Go(func() {
		defer stop()
		d.end(d.fetch(ctx, a.Inner, check))
		if p := d.now(); p.left && !p.dropped {
			a.Notify()
		}
	})
	return d, nil
}

// Retry forgets the downloads that failed, so that they are tried again at once, because a person
// asks.
func (a *Aside) Retry() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, d := range a.downloads {
		if d.now().err != nil {
			a.drop(key)
		}
	}
}

// likeliest returns a download of a URL: a complete one, otherwise one in progress, otherwise one
// that failed. It returns nil if there is none. The caller has the lock.
func (a *Aside) likeliest(url string) (found *download) {
	best := 0
	for key, d := range a.downloads {
		if worth := d.now().worth(); key.url == url && worth > best {
			found, best = d, worth
		}
	}
	return found
}

// drop forgets a download. The caller has the lock.
func (a *Aside) drop(key wanted) {
	d := a.downloads[key]
	delete(a.downloads, key)
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		a.all.Go(d.close) // to close a large file can take long
	}
	d.dropped = true
}

// download is the content of one URL, as far as it has arrived.
type download struct {
	wanted
	spool *spool.Spool
	stop  context.CancelFunc

	mu sync.Mutex
	progress
}

// progress is how far a download is.
type progress struct {
	open    bool          // the server has begun to answer
	size    int64         // the bytes that have arrived
	more    chan struct{} // closed when there is more
	over    bool
	err     error // why the content is not complete
	at      time.Time
	left    bool // a pass did not wait for it
	dropped bool // nobody will read it
}

func (d *download) now() progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.progress
}

// stale reports whether a download is too old to be used again.
func (p progress) stale() bool {
	keep := cacheTime
	if p.err != nil {
		keep = fetchAgain
	}
	return p.over && time.Since(p.at) > keep
}

// worth says how useful a download is for a caller that knows no checksum.
func (p progress) worth() int {
	switch {
	case p.over && p.err == nil:
		return 3
	case !p.over:
		return 2
	}
	return 1
}

// close removes the temporary file. The file is not needed any more, so an error does not matter.
func (d *download) close() { _ = d.spool.Close() }

// fetch downloads the whole content into the temporary file, and compares it with its checksum.
func (d *download) fetch(ctx context.Context, from tasks.Fetcher, check *archive.Check) error {
	body, _, err := from.Open(ctx, d.url)
	if err != nil {
		return err
	}
	defer body.Close()
	d.grow(0)
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if _, failed := d.spool.Write(buf[:n]); failed != nil {
			return failed
		}
		if check != nil {
			_, _ = check.Write(buf[:n]) // does not fail
		}
		d.grow(n)
		switch {
		case errors.Is(err, io.EOF) && check != nil:
			return check.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// grow tells readers that n more bytes have arrived.
func (d *download) grow(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = true
	d.size += int64(n)
	close(d.more)
	d.more = make(chan struct{})
}

// end tells readers that no more bytes will arrive.
func (d *download) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.err, d.at = true, err, time.Now()
	close(d.more)
	d.more = make(chan struct{})
	if d.dropped {
		d.close()
	}
}
