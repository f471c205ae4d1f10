package nodestatus

import (
	"context"
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
