package inbound

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/publish"
)

// Peer connects to ports for other nodes while the daemon runs. It is an observer of the daemon,
// from which it gets the node's name. Only one goroutine may call Run.
type Peer struct {
	publish.Latest
	API  API
	Busy func() bool // reports whether this node makes a change
	Log  *zap.Logger

	own       string
	mu        sync.Mutex
	answers   map[string]answer // by name of the asking node
	published string            // annotation that was written last
}

// The times and limits of a peer.
const (
	maxAskers  = 16
	knockEach  = time.Second // minimum time between two answers to the same node
	perName    = 4 * time.Second
	lookLeast  = 10 * time.Minute // names are read again after perName for each name, but not sooner than this
	retryFirst = 5 * time.Second  // pause after a failure, doubled after each further one
	retryMax   = 10 * time.Minute // longest pause
	farewell   = 3 * time.Second
)

// Run answers until ctx ends. After failures of the API its pauses become longer.
func (p *Peer) Run(ctx context.Context) {
	node := ""
	for node == "" {
		news, some := p.Next(ctx)
		if !some {
			return
		}
		node = news.Status.Node
	}
	for failures := 0; ctx.Err() == nil; {
		names, err := p.API.Names(ctx)
		p.own = p.API.NodeName(node)
		if err == nil {
			err = p.recall(ctx)
		}
		if err != nil {
			failures++
			p.Log.Debug("this node knocks for no other node until it can read Nodes", zap.Error(err))
			wait(ctx, later(failures))
			continue
		}
		failures = 0
		askers := Askers(names, p.own)
		askers = askers[:min(len(askers), maxAskers)]
		_ = p.say(ctx, func() { // otherwise the next time
			maps.DeleteFunc(p.answers, func(asker string, _ answer) bool { return !slices.Contains(askers, asker) })
		})
		p.serve(ctx, askers, max(lookLeast, time.Duration(len(names))*perName))
	}
	last, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), farewell, errors.New("the daemon ends"))
	defer stop()
	_ = p.say(last, func() { clear(p.answers) }) // the next daemon removes the rest
}

// recall reads the answers of an earlier daemon.
func (p *Peer) recall(ctx context.Context) error {
	n, err := p.API.Node(ctx, p.own)
	if err != nil {
		return err
	}
	p.published, p.answers = n.Answers, map[string]answer{}
	maps.Copy(p.answers, read[map[string]answer](n.Answers))
	return nil
}

// later returns the pause after so many failures. It is random, so that the nodes of a fleet do not
// all ask at the moment when the API returns.
func later(failures int) time.Duration {
	d := min(retryFirst<<min(failures-1, 16), retryMax)
	return d/2 + rand.N(d)
}

// serve answers nodes for a while.
func (p *Peer) serve(ctx context.Context, askers []string, while time.Duration) {
	ctx, stop := context.WithTimeoutCause(ctx, while*9/10+rand.N(while/5), errors.New("the names are read again"))
	defer stop()
	var all sync.WaitGroup
	for _, name := range askers {
		all.Go(func() { p.attend(ctx, name) })
	}
	<-ctx.Done()
	all.Wait()
}

// attend answers the questions of one node.
func (p *Peer) attend(ctx context.Context, asker string) {
	failures := 0
	for ctx.Err() == nil {
		n, err := p.API.Node(ctx, asker)
		if err == nil {
			if err = p.answer(ctx, n); err == nil {
				failures = 0
				err = p.API.Changed(ctx, asker, n.Version)
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // the Node was deleted
			_ = p.say(ctx, func() { delete(p.answers, asker) }) // otherwise with the next answer
		}
		if err != nil {
			failures++
			wait(ctx, later(failures))
		}
	}
}

// answer connects to the ports of a node if it asks and has no answer yet. If the node has removed
// its question, answer removes the answer.
func (p *Peer) answer(ctx context.Context, n *kube.Node) error {
	q := read[question](n.Requests)
	p.mu.Lock()
	last := p.answers[n.Name]
	p.mu.Unlock()
	switch q.Nonce {
	case last.Nonce:
		return nil
	case "":
		return p.say(ctx, func() { delete(p.answers, n.Name) })
	}
	defer wait(ctx, knockEach)
	a := answerTo(ctx, q.Nonce, p.Busy, n.Addresses, q.Ports[:min(len(q.Ports), MaxPorts)])
	return p.say(ctx, func() { p.answers[n.Name] = a })
}

// say changes the answers and publishes them. If that fails, it undoes the change.
func (p *Peer) say(ctx context.Context, change func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := maps.Clone(p.answers)
	change()
	text := ""
	if len(p.answers) > 0 {
		text = write(p.answers)
	}
	if text == p.published {
		return nil
	}
	if err := p.API.Annotate(ctx, p.own, kube.AnswersAnnotation, text); err != nil {
		p.answers = was
		return err
	}
	p.published = text
	return nil
}
