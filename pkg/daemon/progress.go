package daemon

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
)

// Times of what takes long: who waits for a node's first pass sees that something happens.
const (
	progressFirst = 2 * time.Second
	progressEvery = 4 * time.Second
)

// progress tells the journal and the service manager what the daemon is at until kubelet may start,
// where that takes long. Several goroutines use it.
type progress struct {
	notify *notifier

	mu    sync.Mutex
	phase string
	keys  map[graph.Key]time.Time
	loads map[string]func() // the downloads, by what ends their telling
	last  map[string]fetch.Transfer
}

// begin says that the daemon is at something, until end is called. what names it, each time that it
// is told.
func (p *progress) begin(what func() string) (end func()) {
	if p.notify.ready.Load() {
		return func() {}
	}
	began := time.Now()
	var mu sync.Mutex
	over := false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(progressFirst, func() {
		text := what() + ", for " + time.Since(began).Round(time.Second).String()
		mu.Lock()
		defer mu.Unlock()
		if over || p.notify.ready.Load() {
			return
		}
		p.notify.log.Info("working", zap.String("at", text))
		p.notify.logged(p.notify.manager.Status(text))
		timer.Reset(progressEvery)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// enter notes which part of a pass begins.
func (p *progress) enter(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.keys = phase, map[graph.Key]time.Time{}
}

// start and done frame the work on a key.
func (p *progress) start(k graph.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[k] = time.Now()
}

func (p *progress) done(k graph.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.keys, k)
}

// pass names a pass by what it is at: the key that takes longest, if there is one.
func (p *progress) pass() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, oldest := p.phase, time.Time{}
	for k, since := range p.keys {
		if oldest.IsZero() || since.Before(oldest) {
			text, oldest = p.phase+" "+string(k), since
		}
	}
	return text
}

// fetching hears how far a download is.
func (p *progress) fetching(now fetch.Transfer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loads == nil {
		p.loads, p.last = map[string]func(){}, map[string]fetch.Transfer{}
	}
	p.last[now.URL] = now
	end, known := p.loads[now.URL]
	switch {
	case now.Over && known:
		end()
		delete(p.loads, now.URL)
	case !now.Over && !known:
		p.loads[now.URL] = p.begin(func() string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return "fetching " + p.last[now.URL].String()
		})
	}
}
