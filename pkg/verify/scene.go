package verify

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
)

// What a proof makes. The names are always the same, so that the next one finds what a killed one
// left.
const (
	podA, podB = "verify-a", "verify-b"
	outsideNS  = "netwright-verify-outside"
	cableLink  = "nwverify0"
	tableName  = "netwright-verify"
)

// cableMTU is the largest that a veth has: while the cable is there, it must not be the node's link
// of the smallest MTU, after which networks choose.
const cableMTU = 65535

// The addresses of the outside and of a service, of ranges for documentation (RFC 5737, RFC 3849),
// which nobody has.
var (
	cableHere  = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/30"), netip.MustParsePrefix("2001:db8:6e77::1/126")}
	cableThere = []netip.Prefix{netip.MustParsePrefix("198.51.100.2/30"), netip.MustParsePrefix("2001:db8:6e77::2/126")}
	virtual    = []netip.Addr{netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("2001:db8:6e77::10")}
)

// bridgeFilter has the kernel translate what stays on a bridge, too.
const bridgeFilter = "net.bridge.bridge-nf-call-iptables"

// scene is what a proof has made: pods a and b with an endpoint each, an outside on a cable of the
// node's, a service of b's.
type scene struct {
	host *host.Host
	want Traffic

	a, b     *Pod
	port     uint16       // of b; 0: the conf's chain has none
	reserved net.Listener // keeps others off that port
	// passes says that pods' packets go through this node's own network: its gateway is theirs. A
	// macvlan's do not.
	passes  bool
	bridged string // the value of bridgeFilter; "": there is none
	outside *endpoint
	ends    []*endpoint
	nodeAt  []netip.AddrPort
}

func (s *scene) open(ctx context.Context) error {
	_, list, err := loadConf(s.want.ConfDir)
	if err != nil {
		return err
	}
	opt := PodOptions{Name: podA, ConfDir: s.want.ConfDir, BinDirs: s.want.BinDirs}
	if s.a, err = AddPod(ctx, s.host, opt); err != nil {
		return err
	}
	opt.Name = podB
	if slices.ContainsFunc(list.Plugins,
		func(p *libcni.PluginConfig) bool { return p.Network.Capabilities["portMappings"] }) {
		if s.reserved, err = net.Listen("tcp4", ":0"); err != nil {
			return fmt.Errorf("choose a port of the host: %w", err)
		}
		s.port = uint16(s.reserved.Addr().(*net.TCPAddr).Port)
		opt.PortMappings = []PortMapping{{HostPort: int(s.port), ContainerPort: endpointPort, Protocol: "tcp"}}
	}
	if s.b, err = AddPod(ctx, s.host, opt); err != nil {
		return err
	}
	for _, p := range []*Pod{s.a, s.b} {
		at := []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), endpointPort)}
		for _, a := range p.Addresses {
			at = append(at, netip.AddrPortFrom(a.Addr(), endpointPort))
		}
		if _, err := s.serve(p.NetNS, p.Name, at); err != nil {
			return err
		}
	}
	if err := s.openNode(ctx); err != nil || !s.passes {
		return err
	}
	return errors.Join(s.openOutside(ctx), s.openService(ctx))
}

// openNode starts the node's own endpoint, and finds out whether the pods' packets pass it.
func (s *scene) openNode(ctx context.Context) error {
	addrs, err := s.host.Live.Net.Addresses(ctx, "")
	if err != nil {
		return err
	}
	if value, err := s.host.Live.Kernel.Sysctl(bridgeFilter); err == nil {
		s.bridged = strings.TrimSpace(value)
	}
	s.passes = len(s.a.Gateways) == 0 ||
		slices.ContainsFunc(addrs, func(a rtnl.Address) bool { return slices.Contains(s.a.Gateways, a.Prefix.Addr()) })
	for _, a := range addrs {
		if a.Link == s.host.Live.Facts.Uplink && a.Scope == "global" && s.a.Address(a.Prefix.Addr()).IsValid() {
			s.nodeAt = append(s.nodeAt, netip.AddrPortFrom(a.Prefix.Addr(), 0))
		}
	}
	for i, at := range s.nodeAt {
		e, err := s.serve(s.want.node, "node", []netip.AddrPort{at})
		if err != nil {
			return err
		}
		s.nodeAt[i] = e.at[0]
	}
	return nil
}

// openOutside makes a namespace that is no pod and not the node, on a cable of the node's.
func (s *scene) openOutside(ctx context.Context) error {
	ns, err := s.host.Net.AddNetNS(ctx, outsideNS)
	if err != nil {
		return err
	}
	cable := rtnl.VethPair{Name: cableLink, NetNS: ns, MTU: cableMTU}
	var at []netip.AddrPort
	for i, there := range cableThere {
		if s.a.Address(there.Addr()).IsValid() {
			cable.Here, cable.There = append(cable.Here, cableHere[i]), append(cable.There, there)
			at = append(at, netip.AddrPortFrom(there.Addr(), endpointPort))
		}
	}
	if err := s.host.AddVethPair(ctx, cable); err != nil {
		return err
	}
	s.outside, err = s.serve(ns, "outside", at)
	return err
}

// openService makes a service of pod b as kube-proxy does: its address becomes the pod's where
// packets come in, and a pod that reaches itself is masqueraded.
func (s *scene) openService(ctx context.Context) error {
	for _, v := range virtual {
		to := s.b.Address(v)
		if !to.IsValid() {
			continue
		}
		family := "ip"
		if v.Is6() {
			family = "ip6"
		}
		self := []netip.Prefix{netip.PrefixFrom(to, to.BitLen())}
		err := s.host.Firewall.ReplaceTable(ctx,
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

func (s *scene) serve(netns, name string, at []netip.AddrPort) (*endpoint, error) {
	e, err := serveAt(netns, hello{Name: name}, at...)
	if err == nil {
		s.ends = append(s.ends, e)
	}
	return e, err
}

// close takes all of it away, also when ctx is what ended.
func (s *scene) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), clearLimit,
		errors.New("taking the pods back took too long"))
	defer cancel()
	var failed []error
	for _, e := range s.ends {
		failed = append(failed, e.Close())
	}
	if s.reserved != nil {
		failed = append(failed, s.reserved.Close())
	}
	for _, p := range []*Pod{s.a, s.b} {
		if p != nil {
			failed = append(failed, p.Remove(ctx))
		}
	}
	return errors.Join(append(failed, dismantle(ctx, s.host))...)
}

// dismantle takes away what is made around the pods; absence is success.
func dismantle(ctx context.Context, h *host.Host) error {
	return errors.Join(h.DelVethPair(ctx, cableLink), h.Net.DelNetNS(ctx, outsideNS),
		h.Firewall.DelTableNamed(ctx, firewall.TableName{Family: "ip", Name: tableName}),
		h.Firewall.DelTableNamed(ctx, firewall.TableName{Family: "ip6", Name: tableName}))
}
