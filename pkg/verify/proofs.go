package verify

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
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

func (s *scene) added(context.Context) Result {
	return Result{Check: checkPods, State: OK,
		Seen: fmt.Sprintf("two were added by %s: %s, %s", s.a.ConfFile, addressesOf(s.a), addressesOf(s.b))}
}

func addressesOf(p *Pod) string {
	var words []string
	for _, a := range p.Addresses {
		words = append(words, a.Addr().String())
	}
	return strings.Join(words, " and ")
}

// localhost has one socket of a pod reach another there by the loopback, as a pod's containers do.
func (s *scene) localhost(ctx context.Context) Result {
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), endpointPort)
	if _, err := ask(ctx, s.a.NetNS, to, "/"); err != nil {
		return Result{Check: checkLocalhost, State: Failed, Seen: err.Error(),
			Next: "is lo up in pods? the plugin `loopback` sets it up"}
	}
	return Result{Check: checkLocalhost, State: OK, Seen: "two sockets of a pod meet at " + to.String()}
}

// podToPod has each pod reach the other.
func (s *scene) podToPod(ctx context.Context) Result {
	for _, way := range [][2]*Pod{{s.a, s.b}, {s.b, s.a}} {
		for _, to := range way[1].Addresses {
			if _, err := s.reach(ctx, way[0].NetNS, netip.AddrPortFrom(to.Addr(), endpointPort),
				way[1].Name); err != nil {
				return Result{Check: checkPodToPod, State: Failed, Seen: "two pods of this node: " + err.Error(),
					Next: s.dropping()}
			}
		}
	}
	return Result{Check: checkPodToPod, State: OK, Seen: "two pods of this node reach each other"}
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
func (s *scene) nodeAndPod(ctx context.Context) Result {
	if !s.passes {
		return Result{Check: checkNode, State: NotHere, Seen: passedBy}
	}
	for _, to := range s.a.Addresses {
		if _, err := s.reach(ctx, s.want.node, netip.AddrPortFrom(to.Addr(), endpointPort), s.a.Name); err != nil {
			return Result{Check: checkNode, State: Failed, Seen: "from the node: " + err.Error(),
				Next: "kubelet's probes fail in the same way: `ip route get " + to.Addr().String() +
					"`, and what drops in OUTPUT"}
		}
	}
	for _, at := range s.nodeAt {
		if _, err := s.reach(ctx, s.a.NetNS, at, "node"); err != nil {
			return Result{Check: checkNode, State: Failed, Seen: "from a pod to the node: " + err.Error(),
				Next: "look for what drops in INPUT: `iptables -S INPUT`, `nft list ruleset`"}
		}
	}
	return Result{Check: checkNode, State: OK, Seen: "the node reaches a pod, and a pod the node"}
}

// service has a pod reach the other by an address that is translated on this node, as kube-proxy
// does it.
func (s *scene) service(ctx context.Context) Result {
	if !s.passes {
		return Result{Check: checkService, State: NotHere, Seen: passedBy}
	}
	return s.byService(ctx, s.a, Result{Check: checkService, State: OK,
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
func (s *scene) hairpin(ctx context.Context) Result {
	if !s.passes {
		return Result{Check: Hairpin, State: NotHere, Seen: passedBy}
	}
	return s.byService(ctx, s.b, Result{Check: Hairpin, State: OK, Seen: "a pod reaches itself by a service's address"},
		"hairpin mode is off at the pod's port of the bridge (`bridge -d link`): hairpinMode in the conf, "+
			"networking.bridge.hairpin in the documents")
}

func (s *scene) byService(ctx context.Context, from *Pod, well Result, next string) Result {
	for _, v := range virtual {
		if !s.b.Address(v).IsValid() {
			continue
		}
		if _, err := s.reach(ctx, from.NetNS, netip.AddrPortFrom(v, endpointPort), s.b.Name); err != nil {
			return Result{Check: well.Check, State: Failed, Seen: err.Error(), Next: next}
		}
	}
	return well
}

// hostPort has the outside reach a pod by a port of the node.
func (s *scene) hostPort(ctx context.Context) Result {
	switch {
	case !s.passes:
		return Result{Check: checkHostPort, State: NotHere, Seen: passedBy}
	case s.port == 0:
		return Result{Check: checkHostPort, State: NotHere,
			Seen: "the conf's chain has nothing that makes ports of the host (portmap)"}
	}
	for _, at := range s.nodeAt {
		if at.Addr().Is6() {
			continue // portmap makes them for IPv4; with IPv6 kubelet says for which address
		}
		to := netip.AddrPortFrom(at.Addr(), s.port)
		if _, err := s.reach(ctx, s.outside.netns, to, s.b.Name); err != nil {
			return Result{Check: checkHostPort, State: Failed, Seen: "a pod's hostPort from outside: " + err.Error(),
				Next: "look at portmap's chains (`iptables -t nat -S`, `nft list ruleset`) and at what drops: " +
					s.dropping()}
		}
	}
	return Result{Check: checkHostPort, State: OK, Seen: "a pod's hostPort is reached from outside"}
}

// mtu sends what the pods' link takes, and one byte more.
func (s *scene) mtu(ctx context.Context) Result {
	return carries(ctx, checkMTU, s.a, s.b.Addresses, endpointPort, "between two pods of this node")
}

func carries(ctx context.Context, check string, from *Pod, to []netip.Prefix, port uint16, where string) Result {
	var words []string
	for _, a := range to {
		if !from.Address(a.Addr()).IsValid() {
			continue
		}
		p, err := probePath(ctx, from.NetNS, netip.AddrPortFrom(a.Addr(), port))
		switch {
		case err != nil:
			return Result{Check: check, State: Failed, Seen: where + ": " + err.Error(),
				Next: "look for what drops UDP"}
		case p.Told > 0:
			return Result{Check: check, State: Failed,
				Seen: fmt.Sprintf("%s: pods send %d bytes, and the way takes %d: a router says so, but large packets "+
					"are split or sent twice", where, p.MTU, p.Told),
				Next: fmt.Sprintf("make the pods' MTU %d (`mtu` under the network), or raise that of the way", p.Told)}
		case p.Takes < p.MTU:
			return Result{Check: check, State: Failed,
				Seen: fmt.Sprintf("%s: packets of %d bytes vanish, and those of %d arrive: a black hole", where, p.MTU,
					p.Takes),
				Next: fmt.Sprintf("find the link with the smaller MTU (`tracepath -n %s`), or make the pods' MTU %d "+
					"(`mtu` under the network); let ICMP \"fragmentation needed\" through", a.Addr(), p.Takes)}
		case !errors.Is(p.Above, unix.EMSGSIZE):
			return Result{Check: check, State: Failed,
				Seen: fmt.Sprintf("%s: %d bytes were sent whole (%v), and the link's MTU is %d", where, p.MTU+1,
					p.Above, p.MTU),
				Next: "the link carries more than it says: compare `ip link` in the pod and on the node"}
		}
		words = append(words, fmt.Sprint(p.MTU))
	}
	return Result{Check: check, State: OK,
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
