package fetch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/netwright/netwright/pkg/tasks"
)

// Observed fetches with another fetcher, and reports the progress.
type Observed struct {
	tasks.Fetcher
	// OnProgress is called when a download begins and ends, and between that at most once in each
	// observeEvery. It must return quickly.
	OnProgress func(Transfer)
}

// Transfer is how far a download is.
type Transfer struct {
	URL       string // without secrets
	Got, Size int64  // bytes; -1: the size is not known
	Took      time.Duration
	Over      bool
}

// observeEvery is the shortest time between two reports about a download.
const observeEvery = 500 * time.Millisecond

// String returns "https://…: 12.3 of 45.0 MB, 3.1 MB/s".
func (p Transfer) String() string {
	of := ""
	if p.Size > 0 {
		of = fmt.Sprintf(" of %.1f", float64(p.Size)/1e6)
	}
	got := float64(p.Got) / 1e6
	return fmt.Sprintf("%s: %.1f%s MB, %.1f MB/s", p.URL, got, of, got/max(p.Took.Seconds(), 1e-3))
}

// Open implements [tasks.Fetcher].
func (o Observed) Open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	b := &observedBody{last: time.Now(), began: time.Now(), report: o.OnProgress, at: Transfer{URL: tasks.Shown(url), Size: -1}}
	o.OnProgress(b.at)
	body, size, err := o.Fetcher.Open(ctx, url)
	if err != nil {
		b.end()
		return nil, size, err
	}
	b.ReadCloser, b.at.Size = body, size
	return b, size, nil
}

// observedBody reports how much was read from it.
type observedBody struct {
	io.ReadCloser
	began, last time.Time
	at          Transfer
	report      func(Transfer)
}

// Read implements [io.Reader].
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.at.Got += int64(n)
	if now := time.Now(); now.Sub(b.last) >= observeEvery {
		b.last, b.at.Took = now, now.Sub(b.began)
		b.report(b.at)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *observedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *observedBody) end() {
	b.at.Over, b.at.Took = true, time.Since(b.began)
	b.report(b.at)
}
