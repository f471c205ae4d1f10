package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// An echo of a running pod says nothing of what the node forwards. So where pods run, and those
// that the agent adds can judge the network, two of these go through the proof of `agent verify
// --traffic`, before the change and after it. On a node without pods none is added: it has nothing
// to lose, and they would leave the network's first traces there.

// trafficLimit is how long one proof may take; two pods come and go within it.
const trafficLimit = 15 * time.Second

// errUntried stands for a proof that could not be made, and says nothing of the change.
var errUntried = errors.New("the proof with pods could not be made")

// askTraffic takes down which checks of the proof pass now.
func (c *Comparison) askTraffic(ctx context.Context) {
	if !c.OwnPods || c.Node.Means.Traffic == nil || !slices.Contains(ProofKinds(c.Probes), podsProbe) {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trafficLimit, ErrNoAnswer)
	defer cancel()
	checks, _ := c.Node.Means.Traffic(ctx, c.Node.Host) // what cannot be tried now is not asked for later
	for _, check := range slices.Sorted(maps.Keys(checks)) {
		if checks[check] == nil {
			c.Traffic = append(c.Traffic, check)
		}
	}
}

// tryTraffic makes the proof again.
func (c *Comparison) tryTraffic(ctx context.Context) (failed Failures) {
	if len(c.Traffic) == 0 {
		return nil
	}
	if c.Node.Means.Traffic == nil {
		return Failures{{podsProbe, errUntried}}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trafficLimit, ErrNoAnswer)
	defer cancel()
	checks, err := c.Node.Means.Traffic(ctx, c.Node.Host)
	if err != nil {
		return Failures{{podsProbe, fmt.Errorf("%w: %w", errUntried, err)}}
	}
	for _, check := range c.Traffic {
		if why := checks[check]; why != nil {
			failed = append(failed, FailedProbe{trafficProbe(check), why})
		}
	}
	return failed
}

// trafficProbe names a check of the proof among the probes.
func trafficProbe(check string) Probe { return Probe(podsProbe + ":two of our own, " + check) }

// awaitPods makes the proof after the change until it passes, or what is left of the window is
// over. One that could not be made proves nothing, and takes nothing back.
func (c *Comparison) awaitPods(ctx context.Context, left time.Duration) Failures {
	failed := awaitSteady(ctx, c.tryTraffic, left, 0)
	untried := func(f FailedProbe) bool { return errors.Is(f.Err, errUntried) }
	if slices.ContainsFunc(failed, untried) {
		c.Traffic = nil
		failed = slices.DeleteFunc(failed, untried)
	}
	return failed
}

// ofTraffic says that a check of the proof failed.
func (f FailedProbe) ofTraffic() bool {
	return strings.HasPrefix(string(f.Probe), string(trafficProbe("")))
}
