// Package nodestatus publishes the state of a node's network in the Kubernetes API: as the
// condition NetworkConverged of the node's own Node, and as Events.
//
// The daemon does not wait for it. It publishes the newest status when it can. While the API is
// away, busy or refuses, it publishes later: once, with the status of that time. The load on the
// API is bounded, whatever a node does: one request in [spacing] for the condition, one in
// [eventEvery] for Events, and an hourly heartbeat. For five thousand nodes without events that is
// less than two requests a second.
package nodestatus

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// Client has the requests to the API; [kube.Client] is one.
type Client interface {
	Condition(ctx context.Context, node, kind string) (*kube.Condition, error)
	SetCondition(ctx context.Context, node string, c kube.Condition) error
	Annotate(ctx context.Context, node, key, value string) error
	Registered(ctx context.Context, node string) (uid string, err error)
	CreateEvent(ctx context.Context, node string, e kube.Event) (name string, err error)
	RepeatEvent(ctx context.Context, name string, e kube.Event) error
}

// As calls do with a client that may write to the node's own Node. It returns [fs.ErrNotExist]
// while the node has no credentials.
type As func(ctx context.Context, do func(context.Context, Client) error) error

// Node publishes to the API. It is an observer of the daemon, and stores the newest status until
// [Node.Run] takes it.
type Node struct {
	publish.Latest
	As       As
	NodeName func(node string) string // maps the agent's name of the node to the Node's; nil: they are equal
	Log      *zap.Logger

	own, name string // the agent's name of the node, and the Node's name
	condition condition
	applied   applied
	node      registration
	events    events

	statusAttempts attempts // for everything but Events
	eventAttempts  attempts // for Events, which an API server may limit separately
}

// Times.
const (
	spacing = 10 * time.Second // between two changes of the condition
	// urgent is the longest random delay before another status or reason is published, so that a
	// fleet does not publish at one moment.
	urgent    = 2 * time.Second
	unhurried = time.Minute      // the same for a new generation with the same status
	texts     = 30 * time.Minute // between two updates in which only the text differs
	heartbeat = time.Hour        // between two heartbeats, plus or minus a tenth
	// reRegistered is how soon a Node that was registered again is noticed. kubelet itself reads
	// its Node every ten seconds.
	reRegistered = time.Minute
	farewell     = 3 * time.Second // time limit of the last update when the daemon ends
)

var errPublish = errors.New("it is time to tell the API")

// Run publishes until ctx ends, and then publishes that the agent has stopped.
func (n *Node) Run(ctx context.Context) {
	for ctx.Err() == nil {
		waiting, stop := context.WithDeadlineCause(ctx, n.publishAt(time.Now()), errPublish)
		news, some := n.Next(waiting)
		stop()
		if some {
			n.take(news, time.Now())
		}
		if ctx.Err() == nil {
			n.publish(ctx)
		}
	}
	n.part(context.WithoutCancel(ctx))
}

// take sets what to publish.
func (n *Node) take(news publish.News, now time.Time) {
	n.own = news.Status.Node
	n.condition.want(news.Status, now)
	n.applied.want(news.Status, now)
	n.events.add(news.Events, now)
}

// publishAt returns when to publish next.
func (n *Node) publishAt(now time.Time) time.Time {
	at := report.Sooner(n.statusAt(), n.eventsAt())
	return report.Sooner(at, now.Add(2*heartbeat)) // there may be nothing to publish
}

// statusAt returns when to write to the Node or to read it; zero: not at all.
func (n *Node) statusAt() time.Time {
	at := report.Sooner(n.condition.at, n.applied.publishAt(&n.condition))
	return n.statusAttempts.postpone(report.Sooner(at, n.node.checkAt(&n.condition)))
}

// eventsAt returns when to publish an Event; zero: there is none. It is later while requests for
// the Node fail. The Node does not wait for Events, which an API server limits separately
// (EventRateLimit).
func (n *Node) eventsAt() time.Time {
	return n.eventAttempts.postpone(n.statusAttempts.postpone(n.events.publishAt(n.condition.published != nil)))
}

// publish does what is due.
func (n *Node) publish(ctx context.Context) {
	now := time.Now()
	switch {
	case isPending(n.statusAt(), now):
		n.attempt(ctx, &n.statusAttempts, "how the node is", func(ctx context.Context, c Client) error {
			return n.publishStatus(ctx, c, now)
		})
	case isPending(n.eventsAt(), now):
		const what = "what happened on the node, in Events"
		n.attempt(ctx, &n.eventAttempts, what, func(ctx context.Context, c Client) error {
			return n.events.put(ctx, c, n.name, now)
		})
	}
}

func isPending(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// attempt makes requests and records their result.
func (n *Node) attempt(
	ctx context.Context, a *attempts, what string, do func(ctx context.Context, c Client) error,
) {
	if n.name = n.own; n.NodeName != nil {
		n.name = n.NodeName(n.own)
	}
	err := n.As(ctx, do)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		if a.said {
			n.Log.Info("the Kubernetes API is told again " + what)
		}
		*a = attempts{}
		return
	}
	a.failures++
	a.notBefore = time.Now().Add(pause(err, a.failures))
	if !a.said && !errors.Is(err, fs.ErrNotExist) { // a node that has not joined the cluster needs no warning
		a.said = true
		n.Log.Warn("the Kubernetes API is not told "+what+", until it can be; nothing else waits for it",
			zap.Error(err))
	}
}

// publishStatus does the first thing that is due. It checks the Node last: otherwise the success of
// a read would clear the failures of writes.
func (n *Node) publishStatus(ctx context.Context, to Client, now time.Time) error {
	switch {
	case isPending(n.condition.at, now):
		if n.condition.published == nil { // the Node may be another one later
			if _, err := n.node.look(ctx, to, n.name, now); err != nil {
				return err
			}
		}
		return n.condition.put(ctx, to, n.name, now)
	case isPending(n.applied.publishAt(&n.condition), now):
		return n.applied.put(ctx, to, n.name)
	}
	another, err := n.node.look(ctx, to, n.name, now)
	if another {
		n.again(now)
	}
	return err
}

// part publishes that the daemon ends. It does nothing where nothing was published, or while
// requests fail.
func (n *Node) part(ctx context.Context) {
	if n.condition.published == nil || n.statusAttempts.failures > 0 {
		return
	}
	now := time.Now()
	n.condition.end()
	ctx, stop := context.WithTimeoutCause(ctx, farewell, errors.New("the daemon ends"))
	defer stop()
	if err := n.As(ctx,
		func(ctx context.Context, c Client) error { return n.condition.put(ctx, c, n.name, now) }); err != nil {
		n.Log.Warn("the Kubernetes API does not know that the agent has stopped", zap.Error(err))
	}
}

// registration identifies the Node that was written to. A Node that was deleted and registered
// again has lost what was published.
type registration struct {
	uid string    // "": unknown
	at  time.Time // when to look again
}

// checkAt returns when to check that the Node is still the same; zero: nothing was published.
func (r *registration) checkAt(c *condition) time.Time {
	if c.published == nil {
		return time.Time{}
	}
	return r.at
}

// look reads the Node's UID, and reports whether another Node was written to before.
func (r *registration) look(ctx context.Context, to Client, node string, now time.Time) (another bool, err error) {
	uid, err := to.Registered(ctx, node)
	if errors.Is(err, fs.ErrNotExist) { // the Node was deleted, and the next one is another Node
		r.uid = ""
		return true, err
	}
	if err != nil {
		return false, err
	}
	another = r.uid != "" && r.uid != uid
	r.uid, r.at = uid, now.Add(host.Jitter(reRegistered, 0.1))
	return another, nil
}

// again publishes everything once more, to another Node.
func (n *Node) again(now time.Time) {
	n.condition.published, n.condition.at = nil, now.Add(rand.N(urgent))
	n.applied.published, n.applied.at = "", now.Add(rand.N(urgent))
}
