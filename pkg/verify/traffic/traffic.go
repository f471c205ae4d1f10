// Package traffic proves that pods can communicate. It adds two test pods, and sends packets
// between them, the node, an outside that it makes, and other nodes.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// Prove adds two pods with the node's real conf and plugins, as a runtime does, makes an outside,
// and sends packets between all of them. It removes everything before it returns, also where ctx
// ends. The next proof, or [RemoveStale], removes what a killed one left. The caller holds
// [ProofLock]. If pods cannot be made or removed, that is a result too.
func Prove(ctx context.Context, h *host.Host, t Options) (results []verify.Result) {
	ctx, cancel := context.WithTimeoutCause(ctx, proofLimit, fmt.Errorf("the proof took longer than %s", proofLimit))
	defer cancel()
	if _, _, err := testpod.LoadConf(t.ConfDir); errors.Is(err, testpod.ErrNoConf) {
		return []verify.Result{{Check: checkPods, State: verify.Waiting, Seen: err.Error()}}
	}
	if err := clearAll(ctx, h, t.ConfDir, t.BinDirs, true, podA, podB); err != nil {
		return []verify.Result{{Check: checkPods, State: verify.Failed, Seen: err.Error(),
			Next: "the plugin says why: it is asked first to take away what an earlier proof may have left"}}
	}
	bed := &testbed{host: h, want: t}
	defer func() {
		if taken := bed.close(ctx); taken != nil {
			results = append(results, verify.Result{Check: "clean up", State: verify.Failed, Seen: taken.Error(),
				Next: "run it again: it begins with what is left"})
		}
	}()
	if err := bed.open(ctx); err != nil {
		return []verify.Result{{Check: checkPods, State: verify.Failed, Seen: err.Error(),
			Next: "the plugin says why; containerd's pods fail in the same way: `journalctl -u containerd`"}}
	}
	return bed.prove(ctx)
}

// passedBy is the result of a proof that needs the node to forward.
const passedBy = "pods' packets do not pass this node: their gateway is not here"

// checkPods is the name of the check that pods can be made.
const checkPods = "pods"

// Hairpin is the name of a check that fails where documents turn hairpin mode off. A checkpoint
// leaves it out.
const Hairpin = "hairpin"

// proof is one check with packets.
type proof struct {
	check  string
	passes bool // it needs that the node forwards pods' packets
	try    func(context.Context) verify.Result
}

// prove makes all proofs at the same time, because a failing one takes seconds.
func (bed *testbed) prove(ctx context.Context) []verify.Result {
	proofs := []proof{
		{checkPods, false, bed.added},
		{"localhost", false, bed.localhost},
		{"pod to pod", false, bed.podToPod},
		{"node and pod", true, bed.nodeAndPod},
		{"pod to service", true, bed.service},
		{Hairpin, true, bed.hairpin},
		{"outside to service", true, bed.hostPort},
		{"pod to outside", true, bed.outsideFrom},
		{"masquerade", false, bed.masquerade},
		{"MTU", false, bed.mtu},
	}
	for _, to := range bed.want.Services {
		proofs = append(proofs, proof{"service " + to.String(), false, func(ctx context.Context) verify.Result {
			return bed.reachService(ctx, to)
		}})
	}
	if len(bed.want.Resolvers) > 0 {
		proofs = append(proofs, proof{"pod to cluster DNS", false, bed.resolved})
	}
	for _, at := range bed.want.Peers {
		p := &peer{bed: bed, at: at, asked: make(chan struct{})}
		proofs = append(proofs, proof{"peer " + at.String(), false, p.meet},
			proof{"pod to pod of another node", false, p.podToPod},
			proof{"MTU to another node", false, p.path},
			proof{"pod to another node", false, p.masquerade},
			proof{"another node to service", false, p.hostPort})
	}
	results := make([]verify.Result, len(proofs))
	var running sync.WaitGroup
	for i, p := range proofs {
		running.Go(func() {
			if results[i] = notApplicable(passedBy); bed.passes || !p.passes {
				results[i] = p.try(ctx)
			}
			results[i].Check = p.check
		})
	}
	running.Wait()
	return results
}

// RemoveStale removes what killed proofs and endpoints of this boot left. It starts no plugin where
// they left nothing. Reset calls it. It may be retried.
func RemoveStale(ctx context.Context, h *host.Host, confDir string, binDirs []string) error {
	return clearAll(ctx, h, confDir, binDirs, false, podA, podB, podPeer)
}

func clearAll(ctx context.Context, h *host.Host, confDir string, binDirs []string, lost bool, pods ...string) error {
	var failed []error
	for _, name := range pods {
		failed = append(failed, testpod.Clear(ctx, h, testpod.Options{Name: name, ConfDir: confDir, BinDirs: binDirs}, lost))
	}
	failed = append(failed, dismantle(ctx, h))
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("take away what an earlier proof left: %w", err)
	}
	return nil
}
