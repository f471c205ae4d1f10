package probe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/cri"
)

// The node also has to connect its pods. The agent starts no pod for this: it sends echoes from the
// node, as kubelet does, to pods that run. Pods may end for reasons of their own, which the
// container runtime knows. So each pod that answered before and still runs must answer.

// The maximum number of pods that are probed in a family.
const (
	maxPods  = 8 // before a change: some pods answer no echo
	mostPods = 3 // after it
)

// running returns probes of pods that answer now. If no runtime tells which pods run, it returns
// none, because a pod that does not answer may have ended. It returns an error if it could not send
// some of the echoes.
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

// podEchoes returns echo probes for the addresses of running pods in a family.
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

// runs reports whether a pod can be reached. When a pod ends, its containers end before its network
// is removed.
func runs(p cri.Pod) bool { return p.Ready && len(p.Running) > 0 }

// askPods passes if all pods answer that still run.
func (n Prober) askPods(ctx context.Context, what string) error {
	silent := n.silentPods(ctx, what)
	if len(silent) == 0 {
		return nil
	}
	pods, err := n.Host.Live.Pods(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer, and it is not known whether its pod runs: %w", silent[0], err)
	}
	return firstRunning(pods, silent)
}

// silentPods returns the addresses of the probe that answer no echo.
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

// firstRunning returns an error that names a running pod with one of these addresses, or nil.
func firstRunning(pods []cri.Pod, silent []netip.Addr) error {
	for _, p := range pods {
		for _, addr := range p.Addresses {
			if runs(p) && slices.Contains(silent, addr) {
				return fmt.Errorf("pod %s runs, but %s does not answer", p, addr)
			}
		}
	}
	return nil
}
