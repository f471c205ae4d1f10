// Package fetch fetches archives beside the passes of a daemon.
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

// The daemon fetches archives beside its passes. A pass reads what comes as it comes, for a short
// time; then its key waits, the pass ends, and another one follows when all of it is there. Nothing
// of it is believed before its hash is known to be right, as ever.

// Times of what is fetched beside a pass.
const (
	fetchEarly = 20 * time.Second       // that a pass waits for it before READY: kubelet does, too
	fetchBrief = 300 * time.Millisecond // … and afterwards
	fetchAgain = time.Minute            // for so long a server that failed is not asked again
	cacheTime  = time.Hour              // for so long what nobody reads is kept
)

// Limit is how long an archive may take: a slow mirror, not a dead one, of which a stalled read
// ends earlier.
const Limit = 15 * time.Minute

var errFetchLate = fmt.Errorf("it took longer than %s", Limit)

// Aside fetches what passes open, in goroutines of its own.
type Aside struct {
	Inner tasks.Fetcher
	host  host.Options
	local bool        // the store is a directory of this machine
	early func() bool // before READY

	bounded func() (context.Context, context.CancelFunc) // in the daemon's life
	stop    context.CancelCauseFunc
	all     sync.WaitGroup
	came    chan struct{} // has something when a download has ended that a pass did not wait for

	mu         sync.Mutex
	downloads  map[wanted]*download
	prefetched map[string]bool // URLs that MayPrefetch said yes to
}

// wanted is a URL and the checksum that is to be there; "": whatever is there. Two assets may name
// one URL, and documents may change a checksum.
type wanted struct {
	url string
	sum archive.Checksum
}

var _ tasks.Fetcher = (*Aside)(nil)

// New is one that fetches by inner, into spools of the host, until ctx ends and it is closed.
// store is where the store is, and early says that READY was not said yet.
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

// Close ends with the daemon.
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

// Ended is where it is told that something is there, or is not to be had.
func (a *Aside) Ended() <-chan struct{} {
	if a == nil {
		return nil
	}
	return a.came
}

// Notify has the loop make a pass with what is there.
func (a *Aside) Notify() {
	select {
	case a.came <- struct{}{}:
	default: // it is to make one already
	}
}

// ofThisMachine says that a URL is read as fast as a disk.
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
		return a.Inner.Open(ctx, url) // there is no place for it yet, or none of that kind
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

// begin has a URL fetched, and says whether all of it is there, or why it is not to be had. What is
// there has the checksum that is wanted: no pass waits until that is known.
func (a *Aside) begin(url string, want archive.Wanted) (there bool, err error) {
	if a.ofThisMachine(url) {
		return true, nil
	}
	d, err := a.download(url, want)
	if err != nil {
		return true, nil // it is fetched as it is read
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = true
	return d.over, d.err
}

// download is the one of a URL with a checksum, begun where there is none. A zero want takes what
// there is of the URL, of several the one that is right.
func (a *Aside) download(url string, want archive.Wanted) (*download, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, d := range a.downloads {
		if d.now().stale() {
			a.drop(key)
		}
	}
	key := wanted{url, want.Sum}
	for _, known := range []wanted{key, {url: url}} { // the second was begun before READY, by who opened it
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

// Retry has what failed be asked for again at once: a person asks.
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

// likeliest is a download of a URL: one that is right, else one under way, else one that failed;
// nil: there is none. The caller has the lock.
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
		a.all.Go(d.close) // it can take long where it is large
	}
	d.dropped = true
}

// download is the content of one URL, as far as it has come.
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
	size    int64         // what is there
	more    chan struct{} // closed when there is more
	over    bool
	err     error // why not all is there
	at      time.Time
	left    bool // a pass did not wait for it
	dropped bool // nobody will read it
}

func (d *download) now() progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.progress
}

// stale says that it is of no use any more.
func (p progress) stale() bool {
	keep := cacheTime
	if p.err != nil {
		keep = fetchAgain
	}
	return p.over && time.Since(p.at) > keep
}

// worth is how likely it is of use to who knows no checksum.
func (p progress) worth() int {
	switch {
	case p.over && p.err == nil:
		return 3
	case !p.over:
		return 2
	}
	return 1
}

// close gives the room back. Of a file that is gone nothing is lost.
func (d *download) close() { _ = d.spool.Close() }

// fetch brings all of it into the spool, and holds it against its checksum.
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

// grow tells readers of n bytes more.
func (d *download) grow(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = true
	d.size += int64(n)
	close(d.more)
	d.more = make(chan struct{})
}

// end tells readers that nothing more comes.
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
