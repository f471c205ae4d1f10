package checkpoint

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
)

// The network of the pods is the node's work too. No pod is started for a change: those that run
// are asked, by an echo from the node, the way that kubelet reaches them. Pods end for reasons of
// their own, which the runtime knows: of those that answered before, each that runs still must
// answer.

// How many pods are asked in a family.
const (
	triedPods = 8 // before a change, for some answer no echo
	mostPods  = 3 // after it
)

// askRunning adds those pods to the probes that answer now. Where no runtime says which pods run,
// none is asked: a silent one may have ended.
func (j *Journal) askRunning(ctx context.Context, h *host.Host, m Means) {
	list, cancel := context.WithTimeoutCause(ctx, probeEach, errNoAnswer)
	defer cancel()
	pods, err := h.Live.Pods(list)
	if err != nil {
		return
	}
	ctx, cancel = context.WithTimeoutCause(ctx, beforeEach, errNoAnswer)
	defer cancel()
	tried := [][]Probe{podEchoes(pods, 32), podEchoes(pods, 128)}
	silent := attempt(ctx, h, m, slices.Concat(tried...)).probes()
	for _, group := range tried {
		group = slices.DeleteFunc(group, func(p Probe) bool { return slices.Contains(silent, p) })
		var addresses []string
		for _, p := range group[:min(len(group), mostPods)] {
			addresses = append(addresses, p.target().String())
		}
		if len(addresses) > 0 {
			j.Probes = append(j.Probes, Probe(podsProbe+":"+strings.Join(addresses, " ")))
		}
	}
}

// podEchoes ask pods that run, at their addresses of a family.
func podEchoes(pods []cri.Pod, bits int) (out []Probe) {
	for _, p := range pods {
		for _, addr := range p.Addresses {
			if runs(p) && addr.BitLen() == bits && len(out) < triedPods {
				out = append(out, echo(addr))
			}
		}
	}
	return out
}

func echo(addr netip.Addr) Probe { return Probe(pingProbe + ":" + addr.String()) }

// runs says that something of the pod is there to be reached: of one that is ended the containers
// end first, then its network goes.
func runs(p cri.Pod) bool { return p.Ready && len(p.Running) > 0 }

// askPods passes if all answer of which the runtime says that they run.
func askPods(ctx context.Context, h *host.Host, m Means, what string) error {
	silent := silentPods(ctx, h, m, what)
	if len(silent) == 0 {
		return nil
	}
	pods, err := h.Live.Pods(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer, and nobody says whether its pod runs: %w", silent[0], err)
	}
	return firstRunning(pods, silent)
}

// silentPods are those addresses of the probe that answer no echo.
func silentPods(ctx context.Context, h *host.Host, m Means, what string) (silent []netip.Addr) {
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, errNoAnswer)
	defer cancel()
	var asked []Probe
	for _, addr := range strings.Fields(what) {
		asked = append(asked, Probe(pingProbe+":"+addr))
	}
	for _, p := range attempt(ctx, h, m, asked).probes() {
		silent = append(silent, p.target())
	}
	return silent
}

// firstRunning is an error that names a pod which runs and has one of these addresses, nil if none
// does.
func firstRunning(pods []cri.Pod, silent []netip.Addr) error {
	for _, p := range pods {
		for _, addr := range p.Addresses {
			if runs(p) && slices.Contains(silent, addr) {
				return fmt.Errorf("pod %s runs, and %s does not answer", p, addr)
			}
		}
	}
	return nil
}

// leaveEnded takes the probe out of the journal whose pods have all ended meanwhile: it passed, and
// proves nothing.
func (j *Journal) leaveEnded(ctx context.Context, h *host.Host, m Means) {
	ended := func(p Probe) bool {
		what, ok := strings.CutPrefix(string(p), podsProbe+":")
		return ok && len(silentPods(ctx, h, m, what)) == len(strings.Fields(what))
	}
	had := j.Probes
	j.Probes = slices.DeleteFunc(slices.Clone(had), ended)
	if len(j.Traffic) == 0 && !slices.Equal(ProofKinds(had), ProofKinds(j.Probes)) {
		j.Unproved = append(j.Unproved, podsProbe)
	}
}
