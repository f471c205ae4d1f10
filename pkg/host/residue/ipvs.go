package residue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/ip_vs.h.
const (
	ipvsFamily      = "IPVS"
	ipvsVersion     = 1
	ipvsDelService  = 3
	ipvsGetService  = 4
	ipvsGetDest     = 8
	ipvsAttrService = 1
	ipvsAttrDest    = 2

	// Attributes of a service and of a server.
	ipvsSvcAF, ipvsSvcProtocol, ipvsSvcAddr, ipvsSvcPort, ipvsSvcMark = 1, 2, 3, 4, 5
	ipvsDestAddr, ipvsDestFamily                                      = 1, 11
)

// IPVSService is a virtual service of IPVS: at an address and port, or for packets with a firewall
// mark.
type IPVSService struct {
	Family   int // 4 or 6
	Protocol int
	Addr     netip.AddrPort
	Mark     uint32
	Servers  []netip.Addr
}

// String returns the service's name as ipvsadm shows it.
func (s IPVSService) String() string {
	if s.Mark != 0 {
		return fmt.Sprintf("ipv%d FWM %d", s.Family, s.Mark)
	}
	name := map[int]string{unix.IPPROTO_TCP: "TCP", unix.IPPROTO_UDP: "UDP", unix.IPPROTO_SCTP: "SCTP"}[s.Protocol]
	return name + " " + s.Addr.String()
}

// IPVS lists the virtual services of IPVS, without loading a module.
func (r Reader) IPVS(ctx context.Context) ([]IPVSService, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	if !sys.HasModule("/", "ip_vs", "CONFIG_IP_VS") {
		return nil, nil
	}
	answers, err := genl(ctx, ipvsFamily, ipvsVersion, ipvsGetService, unix.NLM_F_DUMP)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the services of IPVS: %w", err)
	}
	var out []IPVSService
	for _, m := range answers {
		s := ipvsService(sys.Attribute(m, ipvsAttrService))
		if s.Servers, err = ipvsServers(ctx, s); err != nil {
			return nil, fmt.Errorf("list the servers of %s of IPVS: %w", s, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func ipvsService(m []byte) IPVSService {
	s := IPVSService{Family: 4, Protocol: int(native16(m, ipvsSvcProtocol)),
		Mark: uint32(sys.Number(sys.Attribute(m, ipvsSvcMark)))}
	if native16(m, ipvsSvcAF) == unix.AF_INET6 {
		s.Family = 6
	}
	if port := sys.Attribute(m, ipvsSvcPort); s.Mark == 0 && len(port) >= 2 {
		s.Addr = netip.AddrPortFrom(ipvsAddr(m, ipvsSvcAddr, s.Family), binary.BigEndian.Uint16(port))
	}
	return s
}

func ipvsServers(ctx context.Context, s IPVSService) ([]netip.Addr, error) {
	answers, err := genl(ctx, ipvsFamily, ipvsVersion, ipvsGetDest, unix.NLM_F_DUMP, s.attribute())
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return nil, err
	}
	var out []netip.Addr
	for _, m := range answers {
		m = sys.Attribute(m, ipvsAttrDest)
		family := s.Family
		switch native16(m, ipvsDestFamily) { // a tunnel may have another family than the service
		case unix.AF_INET:
			family = 4
		case unix.AF_INET6:
			family = 6
		}
		out = append(out, ipvsAddr(m, ipvsDestAddr, family))
	}
	return out, nil
}

// attribute identifies the service for the kernel (net/netfilter/ipvs/ip_vs_ctl.c,
// ip_vs_genl_parse_service).
func (s IPVSService) attribute() *nl.RtAttr {
	a := nl.NewRtAttr(ipvsAttrService|unix.NLA_F_NESTED, nil)
	family := uint16(unix.AF_INET)
	if s.Family == 6 {
		family = unix.AF_INET6
	}
	a.AddRtAttr(ipvsSvcAF, nl.Uint16Attr(family))
	if s.Mark != 0 {
		a.AddRtAttr(ipvsSvcMark, nl.Uint32Attr(s.Mark))
		return a
	}
	addr := make([]byte, 16)
	copy(addr, s.Addr.Addr().AsSlice())
	a.AddRtAttr(ipvsSvcProtocol, nl.Uint16Attr(uint16(s.Protocol)))
	a.AddRtAttr(ipvsSvcAddr, addr)
	a.AddRtAttr(ipvsSvcPort, binary.BigEndian.AppendUint16(nil, s.Addr.Port()))
	return a
}

// native16 returns a two-byte attribute, 0 if it is missing.
func native16(m []byte, kind uint16) uint16 {
	b := sys.Attribute(m, kind)
	if len(b) < 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(b)
}

// ipvsAddr returns an address. The kernel sends 16 bytes for either family.
func ipvsAddr(m []byte, kind uint16, family int) netip.Addr {
	b := sys.Attribute(m, kind)
	if family == 4 {
		b = b[:min(4, len(b))]
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// DelIPVS removes a service with its servers; a missing service is success. It may be retried.
func (w Writer) DelIPVS(ctx context.Context, s IPVSService) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	_, err := genl(ctx, ipvsFamily, ipvsVersion, ipvsDelService, unix.NLM_F_ACK, s.attribute())
	if errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove service %s of IPVS: %w", s, err)
	}
	w.changed("IPVS service removed", zap.Stringer("service", s))
	return nil
}
