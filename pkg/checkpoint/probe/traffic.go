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

// An echo of a running pod does not test what the node forwards. So two test pods run the proof of
// `agent verify --traffic` before the change and after it, if the node has pods and test pods can
// prove its network. A node without pods gets none. It has no pods to lose, and the test pods would
// leave the network's first traces there.

// trafficLimit is the time limit of one proof, in which two pods are created and removed.
const trafficLimit = 15 * time.Second

// errUntried is the error of a proof that could not be made. It says nothing about the change.
var errUntried = errors.New("the proof with pods could not be made")

// askTraffic records which checks of the proof pass now.
func (c *Comparison) askTraffic(ctx context.Context) {
	if !c.OwnPods || c.Node.Means.Traffic == nil || !slices.Contains(ProofKinds(c.Probes), podsProbe) {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trafficLimit, ErrNoAnswer)
	defer cancel()
	// a check that cannot be made now is not made after the change
	checks, _ := c.Node.Means.Traffic(ctx, c.Node.Host)
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

// trafficProbe returns the probe that stands for a check of the proof.
func trafficProbe(check string) Probe { return Probe(podsProbe + ":two of our own, " + check) }

// awaitPods makes the proof after the change until it passes or the rest of the window is over. A
// proof that could not be made does not undo the change.
func (c *Comparison) awaitPods(ctx context.Context, left time.Duration) Failures {
	failed := awaitSteady(ctx, c.tryTraffic, left, 0)
	untried := func(f FailedProbe) bool { return errors.Is(f.Err, errUntried) }
	if slices.ContainsFunc(failed, untried) {
		c.Traffic = nil
		failed = slices.DeleteFunc(failed, untried)
	}
	return failed
}

// ofTraffic reports whether the failed probe is a check of the proof.
func (f FailedProbe) ofTraffic() bool {
	return strings.HasPrefix(string(f.Probe), string(trafficProbe("")))
}
