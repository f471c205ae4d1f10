// Package nodestatus says in the Kubernetes API how a node's network is: the condition
// NetworkConverged of the node's own Node, and Events about it.
//
// Nobody waits for it. It takes the newest status whenever it comes to that, and an API that is
// gone, busy or forbids it only makes it publish later: once, and what is true then. What it costs
// the API is bounded whatever a node does: a request in [spacing] for the condition, one in
// [eventEvery] for Events, and an hourly sign of life. Of five thousand nodes that is less than two
// requests a second while nothing happens.
package nodestatus

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// Client is what is asked of the API; [kube.Client] is one.
type Client interface {
	Condition(ctx context.Context, node, kind string) (*kube.Condition, error)
	SetCondition(ctx context.Context, node string, c kube.Condition) error
	Annotate(ctx context.Context, node, key, value string) error
	Registered(ctx context.Context, node string) (uid string, err error)
	CreateEvent(ctx context.Context, node string, e kube.Event) (name string, err error)
	RepeatEvent(ctx context.Context, name string, e kube.Event) error
}

// As does something with a client that may write to the node's own Node. Its error is
// [fs.ErrNotExist] while the node has no credentials.
type As func(ctx context.Context, do func(context.Context, Client) error) error

// Node publishes to the API. It is an observer of the daemon; what it gets it keeps until
// [Node.Run] comes to it.
type Node struct {
	publish.Latest
	As       As
	NodeName func(node string) string // the Node's, of what the agent calls the node; nil: the same
	Log      *zap.Logger

	own, name string // as the agent calls it, and the Node's
	condition condition
	applied   applied
	node      registration
	events    events

	statusAttempts attempts // of all but Events
	eventAttempts  attempts // of Events, which a server may refuse alone
}

// attempts is how requests of a kind went.
type attempts struct {
	failures  int
	notBefore time.Time // nothing is asked before
	said      bool      // that it fails
}

// Times.
const (
	spacing = 10 * time.Second // between two changes of the condition
	// at most until another status or reason is published: a fleet does not do so at one moment
	urgent    = 2 * time.Second
	unhurried = time.Minute      // at most until a new generation of the same status is
	texts     = 30 * time.Minute // between two that differ in their text alone
	heartbeat = time.Hour        // between two signs of life, give or take a tenth
	// reRegistered is how long a Node that was registered anew knows nothing of us, at most:
	// kubelet itself reads its Node every ten seconds.
	reRegistered = time.Minute
	retryFirst   = 5 * time.Second  // after a failure, doubled each time …
	retryMax     = 5 * time.Minute  // … up to this,
	retryNone    = time.Minute      // this where there is no Node or kubeconfig yet,
	retryNever   = 30 * time.Minute // and this where another attempt does not help
	farewell     = 3 * time.Second  // for the last word of a daemon that ends
)

var errPublish = errors.New("it is time to tell the API")

// Run publishes until ctx ends, and then that the agent has stopped.
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

// take takes note of what is new.
func (n *Node) take(news publish.News, now time.Time) {
	n.own = news.Status.Node
	n.condition.want(news.Status, now)
	n.applied.want(news.Status, now)
	n.events.add(news.Events, now)
}

// publishAt is when there is something to do.
func (n *Node) publishAt(now time.Time) time.Time {
	at := report.Sooner(n.statusAt(), n.eventsAt())
	return report.Sooner(at, now.Add(2*heartbeat)) // there may be nothing
}

// statusAt is when to say or to ask something of the Node; zero: there is nothing.
func (n *Node) statusAt() time.Time {
	at := report.Sooner(n.condition.at, n.applied.publishAt(&n.condition))
	return n.statusAttempts.postpone(report.Sooner(at, n.node.checkAt(&n.condition)))
}

// eventsAt is when to publish an Event; zero: there is none. It waits while the Node cannot be
// told. The Node does not wait for Events: a server limits them by themselves (EventRateLimit).
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

// attempt makes requests, and takes note of how that went.
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
	if !a.said && !errors.Is(err, fs.ErrNotExist) { // a node that has not joined is none to warn of
		a.said = true
		n.Log.Warn("the Kubernetes API is not told "+what+", until it can be; nothing else waits for it",
			zap.Error(err))
	}
}

// postpone is a moment, or the later one before which nothing is asked.
func (a *attempts) postpone(at time.Time) time.Time {
	if !at.IsZero() && at.Before(a.notBefore) {
		return a.notBefore
	}
	return at
}

// publishStatus does the first that is due. The Node is looked at last: that it can be read would
// else count for what it may be told.
func (n *Node) publishStatus(ctx context.Context, to Client, now time.Time) error {
	switch {
	case isPending(n.condition.at, now):
		if n.condition.published == nil { // what is read later may be another one already
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

// pause is how long the API is left alone after failures: as long as it asks for, within reason
// ([kube.RetryAfter]), and longer, each node for another time.
func pause(err error, failures int) time.Duration {
	most := retryMax
	switch {
	case errors.Is(err, fs.ErrNotExist):
		most = retryNone
	case !graph.IsTransient(err) && !errors.Is(err, kube.ErrUnknown):
		most = retryNever
	}
	d := min(retryFirst<<min(failures-1, 16), most)
	return kube.RetryAfter(err) + d/2 + rand.N(d)
}

// part publishes that the daemon ends, if it published before and nothing keeps it from doing so
// now.
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
