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

// applied is the generation that is applied, as the Node's annotation has it. It comes behind the
// condition of that generation: who has waited for the one reads the other rightly.
type applied struct {
	wanted    string // "": none is known
	published string
	at        time.Time // when to publish the wanted one, unless it is published
}

// want takes note of what to publish, and decides when: a fleet does not do so at one moment.
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

// publishAt is when to publish it; zero: it is, or the condition comes first.
func (a *applied) publishAt(c *condition) time.Time {
	if a.wanted == "" || a.wanted == a.published || !c.fresh() {
		return time.Time{}
	}
	return a.at
}

// put publishes it: one request a generation.
func (a *applied) put(ctx context.Context, to Client, node string) error {
	if err := to.Annotate(ctx, node, kube.AppliedAnnotation, a.wanted); err != nil {
		return err
	}
	a.published = a.wanted
	return nil
}

// fresh says that the API has the condition of the status that is known, but for its text.
func (c *condition) fresh() bool {
	return c.published != nil && c.published.Status == c.wanted.Status && c.published.Reason == c.wanted.Reason &&
		c.publishedOf == c.generation
}

// registration is the Node that was written to. One that is deleted and registered anew knows
// nothing of what the one before had.
type registration struct {
	uid string    // "": not known
	at  time.Time // when to look again
}

// checkAt is when it is looked whether the Node is the one that was written to; zero: none was.
func (r *registration) checkAt(c *condition) time.Time {
	if c.published == nil {
		return time.Time{}
	}
	return r.at
}

// look reads which Node it is, and reports whether another one was written to before.
func (r *registration) look(ctx context.Context, to Client, node string, now time.Time) (another bool, err error) {
	uid, err := to.Registered(ctx, node)
	if errors.Is(err, fs.ErrNotExist) { // it was deleted: the next one is another
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

// again has all published once more, to another Node.
func (n *Node) again(now time.Time) {
	n.condition.published, n.condition.at = nil, now.Add(rand.N(urgent))
	n.applied.published, n.applied.at = "", now.Add(rand.N(urgent))
}
