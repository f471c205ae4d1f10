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

func well(seen string) verify.Result { return verify.Result{State: verify.OK, Seen: seen} }

func notApplicable(seen string) verify.Result {
	return verify.Result{State: verify.NotApplicable, Seen: seen}
}

func failed(seen, next string) verify.Result {
	return verify.Result{State: verify.Failed, Seen: seen, Next: next}
}

func (bed *testbed) added(context.Context) verify.Result {
	return well(fmt.Sprintf("two were added by %s: %s, %s", bed.a.ConfFile, addressesOf(bed.a), addressesOf(bed.b)))
}

func addressesOf(p *testpod.Pod) string {
	var words []string
	for _, a := range p.Addresses {
		words = append(words, a.Addr().String())
	}
	return strings.Join(words, " and ")
}

// localhost checks that a socket of a pod reaches another one over the loopback, as the containers
// of a pod do.
func (bed *testbed) localhost(ctx context.Context) verify.Result {
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), endpointPort)
	if _, err := ask(ctx, bed.a.NetNS, to, "/"); err != nil {
		return failed(err.Error(), "is lo up in pods? the plugin `loopback` sets it up")
	}
	return well("two sockets of a pod meet at " + to.String())
}

// podToPod checks that each pod reaches the other one.
func (bed *testbed) podToPod(ctx context.Context) verify.Result {
	for _, way := range [][2]*testpod.Pod{{bed.a, bed.b}, {bed.b, bed.a}} {
		for _, to := range way[1].Addresses {
			if _, err := reach(ctx, way[0].NetNS, netip.AddrPortFrom(to.Addr(), endpointPort),
				way[1].Name); err != nil {
				return failed("two pods of this node: "+err.Error(), bed.dropping())
			}
		}
	}
	return well("two pods of this node reach each other")
}

// dropping returns where to look for what drops packets between pods.
func (bed *testbed) dropping() string {
	if bed.host.Live.Facts.ForwardPolicy["ip"] == "drop" {
		return "the policy of FORWARD is drop: what accepts the pods' packets? `agent --once` puts ours there, " +
			"`iptables -S FORWARD` and `nft list ruleset` show all"
	}
	return "look for what drops, routes elsewhere or does not forward: `nft list ruleset`, `iptables -S FORWARD`, " +
		"`ip rule`, `ip route get`, `sysctl net.ipv4.ip_forward`, a NetworkPolicy"
}

// nodeAndPod checks that the node reaches a pod, as kubelet's probes do, and that the pod reaches
// the node.
func (bed *testbed) nodeAndPod(ctx context.Context) verify.Result {
	for _, to := range bed.a.Addresses {
		if _, err := reach(ctx, bed.want.node, netip.AddrPortFrom(to.Addr(), endpointPort), bed.a.Name); err != nil {
			return failed("from the node: "+err.Error(),
				"kubelet's probes fail in the same way: `ip route get "+to.Addr().String()+
					"`, and what drops in OUTPUT")
		}
	}
	for _, at := range bed.nodeAt {
		if _, err := reach(ctx, bed.a.NetNS, at, "node"); err != nil {
			return failed("from a pod to the node: "+err.Error(),
				"look for what drops in INPUT: `iptables -S INPUT`, `nft list ruleset`")
		}
	}
	return well("the node reaches a pod, and a pod the node")
}

// service checks that a pod reaches the other one by a service address, which this node translates
// as kube-proxy does.
func (bed *testbed) service(ctx context.Context) verify.Result {
	return bed.byService(ctx, bed.a, "a pod reaches another of this node by a service's address", bed.unbridged())
}

// unbridged returns why an answer may not come back.
func (bed *testbed) unbridged() string {
	if bed.bridged == "0" {
		return bridgeFilter +
			" is 0, so that the answer of a pod on the same bridge is not translated back: `agent --once` sets it to 1"
	}
	return bed.dropping()
}

// hairpin checks that a pod reaches itself by its service address.
func (bed *testbed) hairpin(ctx context.Context) verify.Result {
	return bed.byService(ctx, bed.b, "a pod reaches itself by a service's address",
		"is hairpin mode on at the pod's port of the bridge (`bridge -d link`)? hairpinMode in the conf, "+
			"networking.bridge.hairpin in the documents. If it is on, "+bed.dropping())
}

func (bed *testbed) byService(ctx context.Context, from *testpod.Pod, seen, next string) verify.Result {
	for _, v := range virtual {
		if !bed.b.Address(v).IsValid() {
			continue
		}
		if _, err := reach(ctx, from.NetNS, netip.AddrPortFrom(v, endpointPort), bed.b.Name); err != nil {
			return failed(err.Error(), next)
		}
	}
	return well(seen)
}

// noPortmap is the result where no port of the host is mapped to a pod.
const noPortmap = "the conf's chain has nothing that makes ports of the host (portmap)"

// hostPort checks that the outside reaches a pod by a port of the node.
func (bed *testbed) hostPort(ctx context.Context) verify.Result {
	if bed.port == 0 {
		return notApplicable(noPortmap)
	}
	for _, at := range bed.nodeAt {
		if at.Addr().Is6() {
			continue // portmap maps ports of IPv4; for IPv6 kubelet names the address
		}
		to := netip.AddrPortFrom(at.Addr(), bed.port)
		if _, err := reach(ctx, bed.outside.netns, to, bed.b.Name); err != nil {
			return failed("a pod's hostPort from outside: "+err.Error(),
				"look at portmap's chains (`iptables -t nat -S`, `nft list ruleset`). If they are there, "+bed.dropping())
		}
	}
	return well("a pod's hostPort is reached from outside")
}

// mtu checks packets of the pod link's MTU, and of one byte more.
func (bed *testbed) mtu(ctx context.Context) verify.Result {
	return bed.carries(ctx, bed.b.Addresses, "between two pods of this node")
}

// carries checks which packet sizes pass from pod a to others.
func (bed *testbed) carries(ctx context.Context, to []netip.Prefix, where string) verify.Result {
	var words []string
	for _, a := range to {
		if !bed.a.Address(a.Addr()).IsValid() {
			continue
		}
		p, err := probe.Path(ctx, bed.a.NetNS, netip.AddrPortFrom(a.Addr(), endpointPort))
		switch {
		case err != nil:
			return failed(where+": "+err.Error(), "look for what drops UDP")
		case p.RouterMTU > 0:
			return failed(fmt.Sprintf("%s: pods send %d bytes, and the way takes %d: a router says so, but large packets "+
				"are split or sent twice", where, p.MTU, p.RouterMTU),
				fmt.Sprintf("make the pods' MTU %d (`mtu` under the network), or raise that of the way", p.RouterMTU))
		case p.Takes < p.MTU:
			return failed(fmt.Sprintf("%s: packets of %d bytes vanish, and those of %d arrive: a black hole", where, p.MTU,
				p.Takes), fmt.Sprintf("find the link with the smaller MTU (`tracepath -n %s`), or make the pods' MTU %d "+
				"(`mtu` under the network); let ICMP \"fragmentation needed\" through", a.Addr(), p.Takes))
		case !errors.Is(p.Above, unix.EMSGSIZE):
			return failed(fmt.Sprintf("%s: %d bytes were sent whole (%v), and the link's MTU is %d", where, p.MTU+1,
				p.Above, p.MTU), "the link carries more than it says: compare `ip link` in the pod and on the node")
		}
		words = append(words, fmt.Sprint(p.MTU))
	}
	return well(fmt.Sprintf("%s: %s bytes arrive unsplit, one more is refused at once", where,
		strings.Join(words, " and ")))
}

// reach asks an endpoint, and returns an error if another one answers.
func reach(ctx context.Context, netns string, to netip.AddrPort, name string) (hello, error) {
	says, err := ask(ctx, netns, to, "/")
	if err == nil && says.Name != name {
		err = fmt.Errorf("%s is answered by %s, not by %s", to, says.Name, name)
	}
	return says, err
}
