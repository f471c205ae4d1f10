package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// The checks of a proof, in their order.
const (
	checkPods       = "pods"
	checkLocalhost  = "localhost"
	checkPodToPod   = "pod to pod"
	checkNode       = "node and pod"
	checkService    = "pod to service"
	checkHostPort   = "outside to service"
	checkOutside    = "pod to outside"
	checkMasquerade = "masquerade"
	checkMTU        = "MTU"
)

// Hairpin is a check that documents may want to fail: a checkpoint leaves it out.
const Hairpin = "hairpin"

// passedBy is said where a proof needs that the node forwards.
const passedBy = "pods' packets do not pass this node: their gateway is not here"

func (s *scene) added(context.Context) verify.Result {
	return verify.Result{Check: checkPods, State: verify.OK,
		Seen: fmt.Sprintf("two were added by %s: %s, %s", s.a.ConfFile, addressesOf(s.a), addressesOf(s.b))}
}

func addressesOf(p *testpod.Pod) string {
	var words []string
	for _, a := range p.Addresses {
		words = append(words, a.Addr().String())
	}
	return strings.Join(words, " and ")
}

// localhost has one socket of a pod reach another there by the loopback, as a pod's containers do.
func (s *scene) localhost(ctx context.Context) verify.Result {
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), endpointPort)
	if _, err := ask(ctx, s.a.NetNS, to, "/"); err != nil {
		return verify.Result{Check: checkLocalhost, State: verify.Failed, Seen: err.Error(),
			Next: "is lo up in pods? the plugin `loopback` sets it up"}
	}
	return verify.Result{Check: checkLocalhost, State: verify.OK, Seen: "two sockets of a pod meet at " + to.String()}
}

// podToPod has each pod reach the other.
func (s *scene) podToPod(ctx context.Context) verify.Result {
	for _, way := range [][2]*testpod.Pod{{s.a, s.b}, {s.b, s.a}} {
		for _, to := range way[1].Addresses {
			if _, err := s.reach(ctx, way[0].NetNS, netip.AddrPortFrom(to.Addr(), endpointPort),
				way[1].Name); err != nil {
				return verify.Result{Check: checkPodToPod, State: verify.Failed, Seen: "two pods of this node: " + err.Error(),
					Next: s.dropping()}
			}
		}
	}
	return verify.Result{Check: checkPodToPod, State: verify.OK, Seen: "two pods of this node reach each other"}
}

// dropping says where to look for what drops between pods.
func (s *scene) dropping() string {
	if s.host.Live.Facts.ForwardPolicy["ip"] == "drop" {
		return "the policy of FORWARD is drop: what accepts the pods' packets? `agent --once` puts ours there, " +
			"`iptables -S FORWARD` and `nft list ruleset` show all"
	}
	return "look for what drops or does not forward: `nft list ruleset`, `iptables -S FORWARD`, `sysctl " +
		"net.ipv4.ip_forward`, a NetworkPolicy"
}

// nodeAndPod has the node reach a pod, as kubelet's probes do, and the pod the node.
func (s *scene) nodeAndPod(ctx context.Context) verify.Result {
	if !s.passes {
		return verify.Result{Check: checkNode, State: verify.NotHere, Seen: passedBy}
	}
	for _, to := range s.a.Addresses {
		if _, err := s.reach(ctx, s.want.node, netip.AddrPortFrom(to.Addr(), endpointPort), s.a.Name); err != nil {
			return verify.Result{Check: checkNode, State: verify.Failed, Seen: "from the node: " + err.Error(),
				Next: "kubelet's probes fail in the same way: `ip route get " + to.Addr().String() +
					"`, and what drops in OUTPUT"}
		}
	}
	for _, at := range s.nodeAt {
		if _, err := s.reach(ctx, s.a.NetNS, at, "node"); err != nil {
			return verify.Result{Check: checkNode, State: verify.Failed, Seen: "from a pod to the node: " + err.Error(),
				Next: "look for what drops in INPUT: `iptables -S INPUT`, `nft list ruleset`"}
		}
	}
	return verify.Result{Check: checkNode, State: verify.OK, Seen: "the node reaches a pod, and a pod the node"}
}

// service has a pod reach the other by an address that is translated on this node, as kube-proxy
// does it.
func (s *scene) service(ctx context.Context) verify.Result {
	if !s.passes {
		return verify.Result{Check: checkService, State: verify.NotHere, Seen: passedBy}
	}
	return s.byService(ctx, s.a, verify.Result{Check: checkService, State: verify.OK,
		Seen: "a pod reaches another of this node by a service's address"}, s.unbridged())
}

// unbridged says why an answer may miss its way back.
func (s *scene) unbridged() string {
	if s.bridged == "0" {
		return bridgeFilter +
			" is 0, so that the answer of a pod on the same bridge is not translated back: `agent --once` sets it to 1"
	}
	return s.dropping()
}

// hairpin has a pod reach itself by its service.
func (s *scene) hairpin(ctx context.Context) verify.Result {
	if !s.passes {
		return verify.Result{Check: Hairpin, State: verify.NotHere, Seen: passedBy}
	}
	return s.byService(ctx, s.b, verify.Result{Check: Hairpin, State: verify.OK, Seen: "a pod reaches itself by a service's address"},
		"hairpin mode is off at the pod's port of the bridge (`bridge -d link`): hairpinMode in the conf, "+
			"networking.bridge.hairpin in the documents")
}

func (s *scene) byService(ctx context.Context, from *testpod.Pod, well verify.Result, next string) verify.Result {
	for _, v := range virtual {
		if !s.b.Address(v).IsValid() {
			continue
		}
		if _, err := s.reach(ctx, from.NetNS, netip.AddrPortFrom(v, endpointPort), s.b.Name); err != nil {
			return verify.Result{Check: well.Check, State: verify.Failed, Seen: err.Error(), Next: next}
		}
	}
	return well
}

// hostPort has the outside reach a pod by a port of the node.
func (s *scene) hostPort(ctx context.Context) verify.Result {
	switch {
	case !s.passes:
		return verify.Result{Check: checkHostPort, State: verify.NotHere, Seen: passedBy}
	case s.port == 0:
		return verify.Result{Check: checkHostPort, State: verify.NotHere,
			Seen: "the conf's chain has nothing that makes ports of the host (portmap)"}
	}
	for _, at := range s.nodeAt {
		if at.Addr().Is6() {
			continue // portmap makes them for IPv4; with IPv6 kubelet says for which address
		}
		to := netip.AddrPortFrom(at.Addr(), s.port)
		if _, err := s.reach(ctx, s.outside.netns, to, s.b.Name); err != nil {
			return verify.Result{Check: checkHostPort, State: verify.Failed, Seen: "a pod's hostPort from outside: " + err.Error(),
				Next: "look at portmap's chains (`iptables -t nat -S`, `nft list ruleset`) and at what drops: " +
					s.dropping()}
		}
	}
	return verify.Result{Check: checkHostPort, State: verify.OK, Seen: "a pod's hostPort is reached from outside"}
}

// mtu sends what the pods' link takes, and one byte more.
func (s *scene) mtu(ctx context.Context) verify.Result {
	return carries(ctx, checkMTU, s.a, s.b.Addresses, endpointPort, "between two pods of this node")
}

func carries(ctx context.Context, check string, from *testpod.Pod, to []netip.Prefix, port uint16, where string) verify.Result {
	var words []string
	for _, a := range to {
		if !from.Address(a.Addr()).IsValid() {
			continue
		}
		p, err := probe.Path(ctx, from.NetNS, netip.AddrPortFrom(a.Addr(), port))
		switch {
		case err != nil:
			return verify.Result{Check: check, State: verify.Failed, Seen: where + ": " + err.Error(),
				Next: "look for what drops UDP"}
		case p.Told > 0:
			return verify.Result{Check: check, State: verify.Failed,
				Seen: fmt.Sprintf("%s: pods send %d bytes, and the way takes %d: a router says so, but large packets "+
					"are split or sent twice", where, p.MTU, p.Told),
				Next: fmt.Sprintf("make the pods' MTU %d (`mtu` under the network), or raise that of the way", p.Told)}
		case p.Takes < p.MTU:
			return verify.Result{Check: check, State: verify.Failed,
				Seen: fmt.Sprintf("%s: packets of %d bytes vanish, and those of %d arrive: a black hole", where, p.MTU,
					p.Takes),
				Next: fmt.Sprintf("find the link with the smaller MTU (`tracepath -n %s`), or make the pods' MTU %d "+
					"(`mtu` under the network); let ICMP \"fragmentation needed\" through", a.Addr(), p.Takes)}
		case !errors.Is(p.Above, unix.EMSGSIZE):
			return verify.Result{Check: check, State: verify.Failed,
				Seen: fmt.Sprintf("%s: %d bytes were sent whole (%v), and the link's MTU is %d", where, p.MTU+1,
					p.Above, p.MTU),
				Next: "the link carries more than it says: compare `ip link` in the pod and on the node"}
		}
		words = append(words, fmt.Sprint(p.MTU))
	}
	return verify.Result{Check: check, State: verify.OK,
		Seen: fmt.Sprintf("%s: %s bytes arrive unsplit, one more is refused at once", where,
			strings.Join(words, " and "))}
}

// reach asks an endpoint and says who answered if it is another.
func (s *scene) reach(ctx context.Context, netns string, to netip.AddrPort, name string) (hello, error) {
	says, err := ask(ctx, netns, to, "/")
	if err == nil && says.Name != name {
		err = fmt.Errorf("%s is answered by %s, not by %s", to, says.Name, name)
	}
	return says, err
}
