package probe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/cri"
)

// The network of the pods is the node's work too. No pod is started for a change: those that run
// are asked, by an echo from the node, the way that kubelet reaches them. Pods end for reasons of
// their own, which the runtime knows: of those that answered before, each that runs still must
// answer.

// How many pods are asked in a family.
const (
	maxPods  = 8 // before a change, for some answer no echo
	mostPods = 3 // after it
)

// running asks for those pods that answer now. Where no runtime says which pods run, none is asked:
// a silent one may have ended. The error is that of some it is not known.
func (n Prober) running(ctx context.Context) (passed []Probe, err error) {
	list, cancel := context.WithTimeoutCause(ctx, probeEach, ErrNoAnswer)
	defer cancel()
	pods, err := n.Host.Live.Pods(list)
	if err != nil {
		return nil, Failures{{podsProbe, err}}.unasked()
	}
	ctx, cancel = context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	tried := [][]Probe{podEchoes(pods, 32), podEchoes(pods, 128)}
	failed := n.Attempt(ctx, slices.Concat(tried...))
	for _, group := range tried {
		group = without(group, failed.probes())
		var addresses []string
		for _, p := range group[:min(len(group), mostPods)] {
			addresses = append(addresses, p.target().String())
		}
		if len(addresses) > 0 {
			passed = append(passed, Probe(podsProbe+":"+strings.Join(addresses, " ")))
		}
	}
	return passed, failed.unasked()
}

// podEchoes ask pods that run, at their addresses of a family.
func podEchoes(pods []cri.Pod, bits int) (out []Probe) {
	for _, p := range pods {
		for _, addr := range p.Addresses {
			if runs(p) && addr.BitLen() == bits && len(out) < maxPods {
				out = append(out, Probe(pingProbe+":"+addr.String()))
			}
		}
	}
	return out
}

// runs says that something of the pod is there to be reached: of one that is ended the containers
// end first, then its network goes.
func runs(p cri.Pod) bool { return p.Ready && len(p.Running) > 0 }

// askPods passes if all answer of which the runtime says that they run.
func (n Prober) askPods(ctx context.Context, what string) error {
	silent := n.silentPods(ctx, what)
	if len(silent) == 0 {
		return nil
	}
	pods, err := n.Host.Live.Pods(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer, and nobody says whether its pod runs: %w", silent[0], err)
	}
	return firstRunning(pods, silent)
}

// silentPods are those addresses of the probe that answer no echo.
func (n Prober) silentPods(ctx context.Context, what string) (silent []netip.Addr) {
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	var asked []Probe
	for addr := range strings.FieldsSeq(what) {
		asked = append(asked, Probe(pingProbe+":"+addr))
	}
	for _, p := range n.Attempt(ctx, asked).probes() {
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
