package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// podPeer is the pod that [Serve] adds.
const podPeer = "verify-peer"

// Serve adds a pod to this node's network, and answers there and on an address of the node until
// ctx ends, for proofs on other nodes: "is what you see my pod's address", "does a packet of this
// length arrive", "reach my hostPort". It asks back nobody but who asks. told hears where it
// listens. The pod is gone when it returns. The caller holds [EndpointLock].
func Serve(
	ctx context.Context, h *host.Host, t Options, at netip.AddrPort, told func(netip.AddrPort, *testpod.Pod),
) (err error) {
	opt := testpod.Options{Name: podPeer, ConfDir: t.ConfDir, BinDirs: t.BinDirs}
	if err := testpod.Clear(ctx, h, opt, true); err != nil {
		return fmt.Errorf("take away what an earlier endpoint left: %w", err)
	}
	p, err := testpod.Add(ctx, h, opt)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), clearLimit,
			errors.New("taking the pod back took too long"))
		defer cancel()
		err = errors.Join(err, p.Remove(ctx))
	}()
	says := hello{Name: h.Live.Facts.Hostname}
	var inPod []netip.AddrPort
	for _, a := range p.Addresses {
		inPod = append(inPod, netip.AddrPortFrom(a.Addr(), endpointPort))
		says.Pods = append(says.Pods, a.Addr())
	}
	pod, err := serveAt(p.NetNS, hello{Name: says.Name}, inPod...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pod.Close()) }()
	node, err := serveAt("", says, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	told(node.at[0], p)
	<-ctx.Done()
	return nil
}

// peer is an endpoint of another node, which is asked once.
type peer struct {
	at    netip.AddrPort
	asked chan struct{} // closed when says is there, or err
	says  hello
	err   error
}

// unmet is said by what needs a peer that does not answer.
var errUnmet = errors.New("the endpoint does not answer")

func (s *scene) meet(ctx context.Context, p *peer) verify.Result {
	p.says, p.err = ask(ctx, s.want.node, p.at, "/")
	close(p.asked)
	check := "peer " + p.at.String()
	switch {
	case p.err != nil:
		return verify.Result{Check: check, State: verify.Failed, Seen: p.err.Error(),
			Next: "does `agent verify --serve` run there? does a firewall let its port through?"}
	case len(p.says.Pods) == 0:
		p.err = errUnmet
		return verify.Result{Check: check, State: verify.Failed, Seen: p.says.Name + " has no pod there",
			Next: "name the address that `agent verify --serve` tells"}
	}
	return verify.Result{Check: check, State: verify.OK, Seen: fmt.Sprintf("%s, with the pod %v", p.says.Name, p.says.Pods)}
}

// pods are the addresses of the peer's pod that a pod of ours can have to do with; none: said by
// the result.
func (p *peer) pods(check string, from *testpod.Pod) ([]netip.Prefix, verify.Result) {
	<-p.asked
	if p.err != nil {
		return nil, verify.Result{Check: check, State: verify.NotHere, Seen: errUnmet.Error()}
	}
	var out []netip.Prefix
	for _, a := range p.says.Pods {
		if from.Address(a).IsValid() {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	if len(out) == 0 {
		return nil, verify.Result{Check: check, State: verify.NotHere, Seen: "pods here and there have no address family in common"}
	}
	return out, verify.Result{}
}

// peerPods has a pod of ours reach the peer's, and be seen by its own address.
func (s *scene) peerPods(ctx context.Context, p *peer) verify.Result {
	const check = "pod to pod of another node"
	to, none := p.pods(check, s.a)
	if to == nil {
		return none
	}
	for _, a := range to {
		says, err := s.reach(ctx, s.a.NetNS, netip.AddrPortFrom(a.Addr(), endpointPort), p.says.Name)
		if err != nil {
			return verify.Result{Check: check, State: verify.Failed, Seen: fmt.Sprintf("%s: %s", p.says.Name, err),
				Next: fmt.Sprintf("is there a route (`ip route get %s`)? are the network's ports open between the "+
					"nodes (`agent networks`)? on a cloud: is the source/destination check off? %s", a.Addr(),
					s.dropping())}
		}
		if own := s.a.Address(a.Addr()); says.From.Addr() != own {
			return verify.Result{Check: check, State: verify.Failed,
				Seen: fmt.Sprintf("the pod of %s sees %s, and not the pod's own %s", p.says.Name, says.From.Addr(),
					own),
				Next: "something masquerades between pods: `nft list ruleset | grep masquerade`, `iptables -t nat -S " +
					"POSTROUTING`; is nonMasqueradeCIDR wide enough?"}
		}
	}
	return verify.Result{Check: check, State: verify.OK,
		Seen: fmt.Sprintf("the pod of %s is reached, and sees the pod's own address", p.says.Name)}
}

// peerPath sends what the pods' link takes to the peer's pod.
func (s *scene) peerPath(ctx context.Context, p *peer) verify.Result {
	const check = "MTU to another node"
	to, none := p.pods(check, s.a)
	if to == nil {
		return none
	}
	return carries(ctx, check, s.a, to, endpointPort, "to the pod of "+p.says.Name)
}

// peerMasquerade has a pod reach the peer's node.
func (s *scene) peerMasquerade(ctx context.Context, p *peer) verify.Result {
	const check = "pod to another node"
	_, none := p.pods(check, s.a)
	at := p.at.Addr()
	switch {
	case none.State != "":
		return none
	case !s.a.Address(at).IsValid():
		return verify.Result{Check: check, State: verify.NotHere, Seen: "pods have no address of the node's family"}
	}
	says, err := s.reach(ctx, s.a.NetNS, p.at, p.says.Name)
	if err != nil {
		return verify.Result{Check: check, State: verify.Failed, Seen: fmt.Sprintf("%s: %s", p.says.Name, err),
			Next: "does the node know the way back to this node's pods? " + s.dropping()}
	}
	r := s.seenBy(p.says.Name, at, says, nil)
	r.Check = check
	return r
}

// peerHostPort has the peer reach a pod of ours by a port of this node.
func (s *scene) peerHostPort(ctx context.Context, p *peer) verify.Result {
	const check = "another node to service"
	_, none := p.pods(check, s.a)
	switch {
	case none.State != "":
		return none
	case s.port == 0:
		return verify.Result{Check: check, State: verify.NotHere,
			Seen: "the conf's chain has nothing that makes ports of the host (portmap)"}
	case p.at.Addr().Is6():
		return verify.Result{Check: check, State: verify.NotHere,
			Seen: "the endpoint is asked by IPv6, and portmap makes ports of IPv4"}
	}
	says, err := ask(ctx, s.want.node, p.at, fmt.Sprintf("/back?port=%d", s.port))
	switch {
	case err != nil:
		return verify.Result{Check: check, State: verify.Failed, Seen: err.Error()}
	case says.Problem != "" || says.Name != s.b.Name:
		return verify.Result{Check: check, State: verify.Failed,
			Seen: fmt.Sprintf("%s does not reach a pod's hostPort %d here: %s", p.says.Name, s.port,
				cmp.Or(says.Problem, says.Name+" answers there")),
			Next: "look at portmap's chains (`iptables -t nat -S`, `nft list ruleset`), and at firewalls between the " +
				"nodes"}
	}
	return verify.Result{Check: check, State: verify.OK, Seen: p.says.Name + " reaches a pod by its hostPort"}
}
