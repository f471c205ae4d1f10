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
// length arrive", "reach my hostPort". It asks back nobody but who asks. ready is called with where
// it listens. The pod is gone when it returns. The caller holds [EndpointLock].
func Serve(
	ctx context.Context, h *host.Host, t Options, at netip.AddrPort, ready func(netip.AddrPort, *testpod.Pod),
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
	ready(node.at[0], p)
	<-ctx.Done()
	return nil
}

// peer is an endpoint of another node, which is asked once.
type peer struct {
	bed   *testbed
	at    netip.AddrPort
	asked chan struct{} // closed when says is there, or err
	says  hello
	err   error
}

// errUnmet is said by what needs a peer that does not answer.
var errUnmet = errors.New("the endpoint does not answer")

// meet asks the peer who it is.
func (p *peer) meet(ctx context.Context) verify.Result {
	defer close(p.asked)
	p.says, p.err = ask(ctx, p.bed.want.node, p.at, "/")
	switch {
	case p.err != nil:
		return failed(p.err.Error(),
			"does `agent verify --serve` run there? does a firewall let its port through?")
	case len(p.says.Pods) == 0:
		p.err = errUnmet
		return failed(p.says.Name+" has no pod there", "name the address that `agent verify --serve` tells")
	}
	return well(fmt.Sprintf("%s, with the pod %v", p.says.Name, p.says.Pods))
}

// pods are the addresses of the peer's pod that a pod of ours can have to do with; none: said by
// the result.
func (p *peer) pods() ([]netip.Prefix, verify.Result) {
	<-p.asked
	if p.err != nil {
		return nil, notApplicable(errUnmet.Error())
	}
	var out []netip.Prefix
	for _, a := range p.says.Pods {
		if p.bed.a.Address(a).IsValid() {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	if len(out) == 0 {
		return nil, notApplicable("pods here and there have no address family in common")
	}
	return out, verify.Result{}
}

// podToPod has a pod of ours reach the peer's, and be seen by its own address.
func (p *peer) podToPod(ctx context.Context) verify.Result {
	to, none := p.pods()
	if to == nil {
		return none
	}
	for _, a := range to {
		says, err := reach(ctx, p.bed.a.NetNS, netip.AddrPortFrom(a.Addr(), endpointPort), p.says.Name)
		if err != nil {
			return failed(fmt.Sprintf("%s: %s", p.says.Name, err),
				fmt.Sprintf("is there a route (`ip route get %s`)? are the network's ports open between the "+
					"nodes (`agent networks`)? on a cloud: is the source/destination check off? %s", a.Addr(),
					p.bed.dropping()))
		}
		if own := p.bed.a.Address(a.Addr()); says.From.Addr() != own {
			return failed(fmt.Sprintf("the pod of %s sees %s, and not the pod's own %s", p.says.Name, says.From.Addr(),
				own),
				"something masquerades between pods: `nft list ruleset | grep masquerade`, `iptables -t nat -S "+
					"POSTROUTING`; is nonMasqueradeCIDR wide enough?")
		}
	}
	return well(fmt.Sprintf("the pod of %s is reached, and sees the pod's own address", p.says.Name))
}

// path sends what the pods' link takes to the peer's pod.
func (p *peer) path(ctx context.Context) verify.Result {
	to, none := p.pods()
	if to == nil {
		return none
	}
	return p.bed.carries(ctx, to, "to the pod of "+p.says.Name)
}

// masquerade has a pod reach the peer's node.
func (p *peer) masquerade(ctx context.Context) verify.Result {
	to, none := p.pods()
	at := p.at.Addr()
	switch {
	case to == nil:
		return none
	case !p.bed.a.Address(at).IsValid():
		return notApplicable("pods have no address of the node's family")
	}
	says, err := reach(ctx, p.bed.a.NetNS, p.at, p.says.Name)
	if err != nil {
		return failed(fmt.Sprintf("%s: %s", p.says.Name, err),
			"does the node know the way back to this node's pods? "+p.bed.dropping())
	}
	return p.bed.seenBy(p.says.Name, at, says, nil)
}

// hostPort has the peer reach a pod of ours by a port of this node.
func (p *peer) hostPort(ctx context.Context) verify.Result {
	to, none := p.pods()
	switch {
	case to == nil:
		return none
	case p.bed.port == 0:
		return notApplicable(noPortmap)
	case p.at.Addr().Is6():
		return notApplicable("the endpoint is asked by IPv6, and portmap makes ports of IPv4")
	}
	says, err := ask(ctx, p.bed.want.node, p.at, fmt.Sprintf("/back?port=%d", p.bed.port))
	switch {
	case err != nil:
		return failed(err.Error(), "")
	case says.Problem != "" || says.Name != p.bed.b.Name:
		return failed(fmt.Sprintf("%s does not reach a pod's hostPort %d here: %s", p.says.Name, p.bed.port,
			cmp.Or(says.Problem, says.Name+" answers there")),
			"look at portmap's chains (`iptables -t nat -S`, `nft list ruleset`), and at firewalls between the nodes")
	}
	return well(p.says.Name + " reaches a pod by its hostPort")
}
