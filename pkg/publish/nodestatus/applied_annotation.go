package nodestatus

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

// applied is the state of the Node's annotation with the applied generation. It is published after
// the condition of that generation, so that a person who waits for the annotation reads the right
// condition.
type applied struct {
	wanted    string // "": not known
	published string
	at        time.Time // when to publish wanted, unless it is published
}

// want sets what to publish and when. The time is random, so that a fleet does not publish at one
// moment.
func (a *applied) want(s *report.Status, now time.Time) {
	g := s.Configuration.Applied
	if g == nil || s.State == report.NodeStarting {
		return
	}
	wanted := strconv.FormatInt(g.Number, 10)
	if wanted == a.wanted {
		return
	}
	a.wanted, a.at = wanted, now.Add(rand.N(unhurried))
}

// publishAt returns when to publish it; zero: it is published, or the condition must come first.
func (a *applied) publishAt(c *condition) time.Time {
	if a.wanted == "" || a.wanted == a.published || !c.fresh() {
		return time.Time{}
	}
	return a.at
}

// put publishes it, with one request for each generation.
func (a *applied) put(ctx context.Context, to Client, node string) error {
	if err := to.Annotate(ctx, node, kube.AppliedAnnotation, a.wanted); err != nil {
		return err
	}
	a.published = a.wanted
	return nil
}

// fresh reports whether the API has the condition of the present status, except for its text.
func (c *condition) fresh() bool {
	return c.published != nil && c.published.Status == c.wanted.Status && c.published.Reason == c.wanted.Reason &&
		c.publishedOf == c.generation
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
	r.uid, r.at = uid, now.Add(time.Duration(float64(reRegistered)*(0.9+0.2*rand.Float64())))
	return another, nil
}

// again publishes everything once more, to another Node.
func (n *Node) again(now time.Time) {
	n.condition.published, n.condition.at = nil, now.Add(rand.N(urgent))
	n.applied.published, n.applied.at = "", now.Add(rand.N(urgent))
}
