package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// Traffic says how the network is proved with pods and packets.
type Options struct {
	ConfDir string   // has the confs, of which the first by name is taken
	BinDirs []string // have the plugins
	// Keep is where pods are seen by their own addresses (nonMasqueradeCIDR); at most one per
	// family.
	Keep []netip.Prefix
	// Masquerades says that our own tables hide pods from what lies outside of Keep. Else whoever
	// does it decides, and is only told of.
	Masquerades bool
	// Services are reached from a pod besides what is made here: an address and a port of a
	// service.
	Services []netip.AddrPort
	// Resolvers are the cluster's DNS, asked from a pod.
	Resolvers []netip.Addr
	// Peers are endpoints of other nodes: see [Serve].
	Peers []netip.AddrPort

	node string // the node's network namespace; "": ours. A test has another
}

// Locks (see [ipc.Lock]) of what there is one of on a host at a time.
const (
	ProofLock    = "/run/netwright/proof.lock"
	EndpointLock = "/run/netwright/endpoint.lock"
)

// Limits of a proof.
const (
	proofLimit = time.Minute
	clearLimit = 30 * time.Second
)

// Prove adds two pods by the node's real conf and plugins, as a runtime does, gives them an outside
// of their own, and sends packets between all of them. All of it is gone when it returns, also when
// ctx ends; what a killed one left, the next takes away first, and so does [Sweep]. The caller
// holds [ProofLock]. An error is of making or taking away; that something is not reached is a
// result.
func Prove(ctx context.Context, h *host.Host, t Options) (results []verify.Result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, proofLimit, fmt.Errorf("the proof took longer than %s", proofLimit))
	defer cancel()
	if _, _, err := testpod.LoadConf(t.ConfDir); errors.Is(err, testpod.ErrNoConf) {
		return []verify.Result{{Check: checkPods, State: verify.Waiting, Seen: err.Error()}}, nil
	}
	if err := clearAll(ctx, h, t.ConfDir, t.BinDirs, true, podA, podB); err != nil {
		return []verify.Result{{Check: checkPods, State: verify.Failed, Seen: err.Error(),
			Next: "the plugin says why: it is asked first to take away what an earlier proof may have left"}}, nil
	}
	s := &scene{host: h, want: t}
	defer func() {
		taken := s.close(ctx)
		if taken != nil {
			results = append(results, verify.Result{Check: "clean up", State: verify.Failed, Seen: taken.Error(),
				Next: "run it again: it begins with what is left"})
		}
	}()
	if err := s.open(ctx); err != nil {
		return []verify.Result{{Check: checkPods, State: verify.Failed, Seen: err.Error(),
			Next: "the plugin says why; containerd's pods fail in the same way: `journalctl -u containerd`"}}, nil
	}
	return s.prove(ctx), nil
}

// prove has all proofs at once, for one that fails takes seconds.
func (s *scene) prove(ctx context.Context) []verify.Result {
	proofs := []func(context.Context) verify.Result{
		s.added, s.localhost, s.podToPod, s.nodeAndPod, s.service, s.hairpin, s.hostPort, s.outsideFrom, s.masquerade,
		s.mtu,
	}
	for _, to := range s.want.Services {
		proofs = append(proofs, func(ctx context.Context) verify.Result { return s.given(ctx, to) })
	}
	if len(s.want.Resolvers) > 0 {
		proofs = append(proofs, s.resolved)
	}
	for _, at := range s.want.Peers {
		p := &peer{at: at, asked: make(chan struct{})}
		proofs = append(proofs, func(ctx context.Context) verify.Result { return s.meet(ctx, p) })
		for _, proof := range []func(context.Context, *peer) verify.Result{s.peerPods, s.peerPath, s.peerMasquerade,
			s.peerHostPort} {
			proofs = append(proofs, func(ctx context.Context) verify.Result { return proof(ctx, p) })
		}
	}
	results := make([]verify.Result, len(proofs))
	var running sync.WaitGroup
	for i, proof := range proofs {
		running.Go(func() { results[i] = proof(ctx) })
	}
	running.Wait()
	return results
}

// Sweep takes away what proofs and endpoints that were killed have left in this boot; where nothing
// is left it starts no plugin. Reset calls it. It may be retried.
func Sweep(ctx context.Context, h *host.Host, confDir string, binDirs []string) error {
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
