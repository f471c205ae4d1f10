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

// Evidence has the probes that passed before a change, and must pass after it.
type Evidence struct {
	Probes        []Probe  `json:"probes"`
	MissingProofs []string `json:"unproved,omitempty"` // see [Proof]
	Traffic       []string `json:"traffic,omitempty"`  // checks of the proof with pods
	// Inbound are the peers that reached a port, by port: "tcp4:22".
	Inbound map[string][]string `json:"inbound,omitempty"`
	// Stated means that the user named the probes. Then nothing else has to answer after the
	// change.
	Stated bool `json:"stated,omitempty"`
}

// Comparison probes after a change what passed before it. A process that did not make the probes
// before the change has only the evidence, and does not check that a new next hop resolves.
type Comparison struct {
	Node   Prober
	Knock  Knocks        // nil to ask no peer
	Window time.Duration // time after the change within which everything must pass
	*Evidence

	// About the change: whether test pods of the agent can prove the network, the pod ranges in the
	// documents, and the destinations of the routes that the change names.
	OwnPods     bool
	Pods, Named []netip.Prefix

	silent  []Probe // probes that did not pass before the change
	before  ledBefore
	unasked error // why no peer could be asked
}

// Before records the probes that pass now. stated are the user's probes, which replace those that
// Before would find. The store and the link managers are always probed. All probes run at the same
// time, so that a timeout counts once and not for each kind.
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

// silentNow returns the neighbours and next hops that do not answer before the change.
func (n Prober) silentNow(ctx context.Context, probes []Probe) Failures {
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	return n.Attempt(ctx, probes)
}

// addNeighbours adds the neighbours that answer now to the probes. Those of one group become one
// probe, of which one must pass. It leaves out a group with a neighbour that must answer anyway.
// The next hops that answer are saved for [ledBefore].
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

// Attempt makes the probes that passed before the change. It also probes next hops and name servers
// that the node did not have before. If the user named the probes, it makes only these.
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

// errStarting is the error while something is still starting.
var errStarting = errors.New("something that the change starts is not up yet")

// AwaitProbes makes the probes after the change until they have passed for the time steady without
// a break. Before that it waits until everything has started that the change starts, as reported by
// starting. Both end with the window, and the watch covers what takes longer.
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

// AwaitTraffic makes the proof with pods after the change, and then asks the peers, until the time
// until.
func (c *Comparison) AwaitTraffic(ctx context.Context, until time.Time) Failures {
	failed := c.awaitPods(ctx, time.Until(until))
	if len(failed) == 0 {
		failed = c.stillReached(ctx, until)
	}
	return failed
}

// Recovered reports whether all probes that passed before the change pass again after the undo.
// failed are those that failed after the change.
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

// DropEnded removes a probe whose pods have all ended meanwhile. It passed, but proves nothing.
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
