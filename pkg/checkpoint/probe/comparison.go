package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Evidence is what passed before a change, and must pass after it.
type Evidence struct {
	Probes        []Probe  `json:"probes"`
	MissingProofs []string `json:"unproved,omitempty"` // see [Proof]
	Traffic       []string `json:"traffic,omitempty"`  // checks of the proof with pods
	// Inbound are the peers that reached a port, by the port: "tcp4:22".
	Inbound map[string][]string `json:"inbound,omitempty"`
	// Stated says that the probes are the user's own: nobody knows what else has to answer after
	// the change.
	Stated bool `json:"stated,omitempty"`
}

// Comparison asks of a node after a change what answered before it. Another process than the one
// that asked before knows the evidence alone: that a new next hop must resolve, it does not ask.
type Comparison struct {
	Node   Prober
	Knock  Knocks        // nil: no peer is asked
	Window time.Duration // in which all must pass after the change
	*Evidence

	// Of the change: whether pods of the agent's own can judge the network, the ranges of pods that
	// its documents state, and those to which it names a route.
	OwnPods     bool
	Pods, Named []netip.Prefix

	silent  []Probe // that did not pass before
	before  ledBefore
	unasked error // why no peer could be asked to knock
}

// Before finds the probes that pass now. The user's list takes the place of those that are found;
// the store is always asked, and who manages the links. All are asked at the same time: who does
// not answer is waited for once, and not once for each kind.
func (c *Comparison) Before(ctx context.Context, stated []Probe, store Probe) (err error) {
	h, probes := c.Node.Host, slices.Clone(stated)
	c.Stated = len(stated) > 0
	if !c.Stated {
		if probes, err = candidates(ctx, h); err != nil {
			return err
		}
	}
	if store != "" {
		probes = append(probes, store)
	}
	around, err := lookAtNeighbours(ctx, h)
	if err != nil {
		return fmt.Errorf("find the probes of a checkpoint: %w", err)
	}
	probes = append(probes, managed(h.Live.Facts, around.own())...)
	knocked := func() {}
	var groups [][]Probe
	var hops, pods []Probe
	var silent Failures
	var unheard error
	var beside sync.WaitGroup
	if !c.Stated {
		probes = append(probes, around.ownAddresses()...)
		knocked = c.findReached(ctx, c.sockets())
		groups, hops = around.groups(), around.hops(c.Named)
		beside.Go(func() { silent = c.Node.silentNow(ctx, slices.Concat(slices.Concat(groups...), hops)) })
		beside.Go(func() { pods, unheard = c.Node.running(ctx) })
	}
	c.Probes, err = c.Node.passing(ctx, probes)
	beside.Wait()
	if err = errors.Join(err, silent.unasked(), unheard); err != nil {
		knocked()
		return err
	}
	if !c.Stated {
		c.addNeighbours(groups, hops, silent.probes())
		c.before.routes, c.before.pods = around.routes, c.Pods
		c.Probes = append(c.Probes, pods...)
		c.askTraffic(ctx)
	}
	c.silent = without(probes, c.Probes)
	c.MissingProofs = missingProofs(probes, c.Probes)
	knocked()
	return nil
}

// silentNow are those of the neighbourhood that do not answer before the change.
func (n Prober) silentNow(ctx context.Context, probes []Probe) Failures {
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	return n.Attempt(ctx, probes)
}

// addNeighbours adds what of the neighbourhood answers now to the probes: of a group of neighbours
// those that do, as one probe. A group is left out if one of it must answer anyway. Of the next
// hops those that answer are kept for [ledBefore].
func (c *Comparison) addNeighbours(groups [][]Probe, hops, failed []Probe) {
	must := func(p Probe) bool { return slices.Contains(c.Probes, p) }
	groups = slices.DeleteFunc(groups, func(g []Probe) bool { return slices.ContainsFunc(g, must) })
	c.before.answered = slices.Concat(c.Probes, without(hops, failed))
	for _, g := range groups {
		if g = without(g, failed); len(g) > 0 {
			c.Probes = append(c.Probes, oneOf(g))
		}
	}
}

// Attempt tries what answered before the change, and what the change brought: next hops and name
// servers that the node did not have before were not there to be asked then. Where the probes are
// the user's own, only these are asked: nobody knows then what else has to answer.
func (c *Comparison) Attempt(ctx context.Context) Failures {
	if c.Stated {
		return c.Node.Attempt(ctx, c.Probes)
	}
	hops, err := newHops(ctx, c.Node.Host, c.Probes)
	redirected, unread := c.before.hopsNow(ctx, c.Node.Host)
	failed := c.Node.Attempt(ctx, slices.Concat(c.Probes, hops, redirected))
	if err = errors.Join(err, unread); err != nil {
		failed = append(failed, FailedProbe{neighbourProbe, err})
	}
	return append(failed, c.newServers(ctx)...)
}

// errStarting stands for a probe that was not asked yet.
var errStarting = errors.New("something that the change starts is not up yet")

// AwaitProbes tries the probes after the change until they have passed for so long without a break,
// after all has started that the change starts: starting says that something still does. The window
// bounds that, too: what takes longer is left to the watch.
func (c *Comparison) AwaitProbes(
	ctx context.Context, starting func(context.Context) bool, steady time.Duration,
) Failures {
	failed := awaitSteady(ctx, func(ctx context.Context) Failures {
		failed := c.Attempt(ctx)
		if len(failed) == 0 && starting != nil && starting(ctx) {
			failed = Failures{{Err: errStarting}}
		}
		return failed
	}, c.Window, steady)
	return slices.DeleteFunc(failed, func(f FailedProbe) bool { return f.Err == errStarting })
}

// AwaitTraffic makes the proof with pods after the change, and then has peers knock, until then.
func (c *Comparison) AwaitTraffic(ctx context.Context, until time.Time) Failures {
	failed := c.awaitPods(ctx, time.Until(until))
	if len(failed) == 0 {
		failed = c.stillReached(ctx, until)
	}
	return failed
}

// Recovered says that after the undo all passes again that passed before the change. failed is what
// did not after it.
func (c *Comparison) Recovered(ctx context.Context, failed Failures) bool {
	end := time.Now().Add(c.Window)
	return len(awaitSteady(ctx, func(ctx context.Context) Failures {
		left := c.Node.Attempt(ctx, c.Probes)
		if len(left) == 0 && slices.ContainsFunc(failed, FailedProbe.ofTraffic) {
			left = c.tryTraffic(ctx)
		}
		return left
	}, c.Window, 0)) == 0 && (!failed.inbound() || c.reachedAgain(ctx, end))
}

// DropEnded takes the probe out of the evidence whose pods have all ended meanwhile: it passed,
// and proves nothing.
func (c *Comparison) DropEnded(ctx context.Context) {
	ended := func(p Probe) bool {
		what, ok := strings.CutPrefix(string(p), podsProbe+":")
		return ok && len(c.Node.silentPods(ctx, what)) == len(strings.Fields(what))
	}
	had := c.Probes
	c.Probes = slices.DeleteFunc(slices.Clone(had), ended)
	if len(c.Traffic) == 0 && !slices.Equal(ProofKinds(had), ProofKinds(c.Probes)) {
		c.MissingProofs = append(c.MissingProofs, podsProbe)
	}
}
