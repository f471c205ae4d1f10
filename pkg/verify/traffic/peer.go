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

// podPeer is the name of the pod that [Serve] adds.
const podPeer = "verify-peer"

// Serve adds a pod to this node's network. It answers there and at an address of the node until ctx
// ends, for proofs on other nodes: whether the pod's address is seen, whether a packet of some
// length arrives, whether a hostPort is reached. It sends requests only back to its client. It
// calls ready with the address that it listens on. It removes the pod before it returns. The caller
// holds [EndpointLock].
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

// peer is an endpoint on another node. It is asked for its pods once.
type peer struct {
	bed   *testbed
	at    netip.AddrPort
	asked chan struct{} // closed when says or err is set
	says  hello
	err   error
}

// errUnmet is the result of proofs that need a peer which does not answer.
var errUnmet = errors.New("the endpoint does not answer")

// meet asks the peer for its name and pods.
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

// pods returns the addresses of the peer's pod in families that this node's pods have. Where there
// are none, the result says why.
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

// podToPod checks that a pod reaches the peer's pod, and is seen with its own address.
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

// path checks that packets of the pod link's MTU reach the peer's pod.
func (p *peer) path(ctx context.Context) verify.Result {
	to, none := p.pods()
	if to == nil {
		return none
	}
	return p.bed.carries(ctx, to, "to the pod of "+p.says.Name)
}

// masquerade checks that a pod reaches the peer's node.
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

// hostPort checks that the peer reaches a pod of this node by a port of the node.
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
