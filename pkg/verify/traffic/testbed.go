package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// Names of what a proof makes. They are always the same, so that the next proof finds what a killed
// one left.
const (
	podA, podB = "verify-a", "verify-b"
	outsideNS  = "netwright-verify-outside"
	vethLink   = "nwverify0"
	tableName  = "netwright-verify"
)

// vethMTU is the largest MTU of a veth. While the pair exists, it must not be the node's link with
// the smallest MTU, by which networks choose theirs.
const vethMTU = 65535

// The addresses of the outside and of a service. They are in ranges for documentation (RFC 5737,
// RFC 3849), which no host uses.
var (
	vethHere  = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/30"), netip.MustParsePrefix("2001:db8:6e77::1/126")}
	vethThere = []netip.Prefix{netip.MustParsePrefix("198.51.100.2/30"), netip.MustParsePrefix("2001:db8:6e77::2/126")}
	virtual   = []netip.Addr{netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("2001:db8:6e77::10")}
)

// bridgeFilter is the sysctl that makes bridged packets pass the firewall, so that they are
// translated too.
const bridgeFilter = "net.bridge.bridge-nf-call-iptables"

// testbed is what a proof has made: pods a and b with an endpoint each, an outside that a veth pair
// connects to the node, and a service of pod b.
type testbed struct {
	host *host.Host
	want Options

	a, b     *testpod.Pod
	port     uint16       // of pod b; 0: the conf has no portmap
	reserved net.Listener // reserves that port
	// passes says that pods' packets pass this node's own network: their gateway is on this node.
	// Packets of a macvlan do not pass it.
	passes  bool
	bridged string // the value of bridgeFilter; "": the kernel does not have it
	outside *endpoint
	ends    []*endpoint
	nodeAt  []netip.AddrPort
}

func (bed *testbed) open(ctx context.Context) error {
	_, list, err := testpod.LoadConf(bed.want.ConfDir)
	if err != nil {
		return err
	}
	opt := testpod.Options{Name: podA, ConfDir: bed.want.ConfDir, BinDirs: bed.want.BinDirs}
	if bed.a, err = testpod.Add(ctx, bed.host, opt); err != nil {
		return err
	}
	opt.Name = podB
	if slices.ContainsFunc(list.Plugins,
		func(p *libcni.PluginConfig) bool { return p.Network.Capabilities["portMappings"] }) {
		if bed.reserved, err = net.Listen("tcp4", ":0"); err != nil {
			return fmt.Errorf("choose a port of the host: %w", err)
		}
		bed.port = uint16(bed.reserved.Addr().(*net.TCPAddr).Port)
		opt.PortMappings = []testpod.PortMapping{{HostPort: int(bed.port), ContainerPort: endpointPort, Protocol: "tcp"}}
	}
	if bed.b, err = testpod.Add(ctx, bed.host, opt); err != nil {
		return err
	}
	for _, p := range []*testpod.Pod{bed.a, bed.b} {
		at := []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), endpointPort)}
		for _, a := range p.Addresses {
			at = append(at, netip.AddrPortFrom(a.Addr(), endpointPort))
		}
		if _, err := bed.serve(p.NetNS, p.Name, at); err != nil {
			return err
		}
	}
	if err := bed.openNode(ctx); err != nil || !bed.passes {
		return err
	}
	return errors.Join(bed.openOutside(ctx), bed.openService(ctx))
}

// openNode starts the node's own endpoint, and finds out whether pods' packets pass the node.
func (bed *testbed) openNode(ctx context.Context) error {
	addrs, err := bed.host.Live.Net.Addresses(ctx, "")
	if err != nil {
		return err
	}
	if value, err := bed.host.Live.Kernel.Sysctl(bridgeFilter); err == nil {
		bed.bridged = strings.TrimSpace(value)
	}
	bed.passes = len(bed.a.Gateways) == 0 ||
		slices.ContainsFunc(addrs, func(a rtnl.Address) bool { return slices.Contains(bed.a.Gateways, a.Prefix.Addr()) })
	for _, a := range addrs {
		if a.Link == bed.host.Live.Facts.Uplink && a.Scope == "global" && bed.a.Address(a.Prefix.Addr()).IsValid() {
			bed.nodeAt = append(bed.nodeAt, netip.AddrPortFrom(a.Prefix.Addr(), 0))
		}
	}
	for i, at := range bed.nodeAt {
		e, err := bed.serve(bed.want.node, "node", []netip.AddrPort{at})
		if err != nil {
			return err
		}
		bed.nodeAt[i] = e.at[0]
	}
	return nil
}

// openOutside makes a network namespace that is neither a pod nor the node, connected to the node
// by a veth pair.
func (bed *testbed) openOutside(ctx context.Context) error {
	ns, err := bed.host.Net.AddNetNS(ctx, outsideNS)
	if err != nil {
		return err
	}
	cable := rtnl.VethPair{Name: vethLink, NetNS: ns, MTU: vethMTU}
	var at []netip.AddrPort
	for i, there := range vethThere {
		if bed.a.Address(there.Addr()).IsValid() {
			cable.Here, cable.There = append(cable.Here, vethHere[i]), append(cable.There, there)
			at = append(at, netip.AddrPortFrom(there.Addr(), endpointPort))
		}
	}
	if err := bed.host.AddVethPair(ctx, cable); err != nil {
		return err
	}
	bed.outside, err = bed.serve(ns, "outside", at)
	return err
}

// openService makes a service of pod b as kube-proxy does: DNAT to the pod for incoming packets,
// and masquerade for a pod that reaches itself.
func (bed *testbed) openService(ctx context.Context) error {
	for _, v := range virtual {
		to := bed.b.Address(v)
		if !to.IsValid() {
			continue
		}
		family := "ip"
		if v.Is6() {
			family = "ip6"
		}
		self := []netip.Prefix{netip.PrefixFrom(to, to.BitLen())}
		err := bed.host.Firewall.ReplaceTable(ctx,
			firewall.Table{Family: family, Name: tableName, Chains: []firewall.Chain{
				{Name: "prerouting", Type: "nat", Hook: "prerouting", Priority: -100, Rules: []firewall.NFRule{
					{DstIn: []netip.Prefix{netip.PrefixFrom(v, v.BitLen())}, Verdict: "dnat", DNAT: to}}},
				{Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: 100,
					Rules: []firewall.NFRule{{SrcIn: self, DstIn: self, Verdict: "masquerade"}}},
			}})
		if err != nil {
			return fmt.Errorf("make a service of a pod: %w", err)
		}
	}
	return nil
}

func (bed *testbed) serve(netns, name string, at []netip.AddrPort) (*endpoint, error) {
	e, err := serveAt(netns, hello{Name: name}, at...)
	if err == nil {
		bed.ends = append(bed.ends, e)
	}
	return e, err
}

// close removes everything, also where ctx has ended.
func (bed *testbed) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), clearLimit,
		errors.New("taking the pods back took too long"))
	defer cancel()
	var failed []error
	for _, e := range bed.ends {
		failed = append(failed, e.Close())
	}
	if bed.reserved != nil {
		failed = append(failed, bed.reserved.Close())
	}
	for _, p := range []*testpod.Pod{bed.a, bed.b} {
		if p != nil {
			failed = append(failed, p.Remove(ctx))
		}
	}
	return errors.Join(append(failed, dismantle(ctx, bed.host))...)
}

// dismantle removes what was made around the pods. It is no error if it is gone.
func dismantle(ctx context.Context, h *host.Host) error {
	return errors.Join(h.DelVethPair(ctx, vethLink), h.Net.DelNetNS(ctx, outsideNS),
		h.Firewall.DelTable(ctx, "ip", tableName),
		h.Firewall.DelTable(ctx, "ip6", tableName))
}
