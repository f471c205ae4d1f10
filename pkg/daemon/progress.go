package daemon

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
)

// progressFirst and progressEvery are when the first report of long work comes, and how often the
// next ones: a person who waits for a node's first pass sees that something happens.
const (
	progressFirst = 2 * time.Second
	progressEvery = 4 * time.Second
)

// progress reports long work to the journal and the service manager until kubelet may start.
// Several goroutines use it.
type progress struct {
	notify *notifier

	mu    sync.Mutex
	phase string
	keys  map[graph.Key]time.Time
	loads map[string]func() // by the URL of a download, the function that ends its reports
	last  map[string]fetch.Transfer
}

// begin reports the work that begins now, until the caller calls end. It calls what for the text of
// each report.
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

// enter records that a phase of a pass begins.
func (p *progress) enter(phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.keys = phase, map[graph.Key]time.Time{}
}

// start records that the pass begins with a key, and done that the pass has ended it.
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

// pass returns the current phase and the key that takes longest, if there is one.
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

// fetching records how far a download is.
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
