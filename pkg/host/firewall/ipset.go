package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/netfilter/ipset/ip_set.h. Every kernel since 2.6.39 supports protocol 6.
const (
	ipsetProtocol     = 6
	ipsetCmdDestroy   = 3
	ipsetCmdList      = 7
	ipsetAttrProtocol = 1
	ipsetAttrName     = 2
	ipsetAttrFlags    = 6
	ipsetOnlyNames    = 1 << 1           // IPSET_FLAG_LIST_SETNAME: without their members
	ipsetErrBusy      = unix.Errno(4100) // IPSET_ERR_BUSY
)

// IPSets implements host.Firewall.
func (n *Reader) IPSets(ctx context.Context) ([]string, error) {
	if err := n.ready(ctx); err != nil {
		return nil, err
	}
	if !sys.HasModule("/", "ip_set", "CONFIG_IP_SET") {
		return nil, nil
	}
	s := newNFTSocket()
	defer s.Close()
	answers, err := sys.Dump(ctx, "ipsets", func() ([]answer, error) {
		return ipsetRequest(s, ipsetCmdList, unix.NLM_F_DUMP,
			numberAttribute(ipsetAttrFlags|unix.NLA_F_NET_BYTEORDER, ipsetOnlyNames))
	})
	if err != nil {
		return nil, fmt.Errorf("list ipsets: %w", err)
	}
	var out []string
	for _, m := range answers {
		if sys.Attribute(m.body, ipsetAttrName) != nil {
			out = append(out, sys.AttributeText(m.body, ipsetAttrName))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// DelIPSet destroys an ipset with its members; a missing set is success. If a rule still uses the
// set, the set stays, and this is an error. It may be retried.
func (w *Writer) DelIPSet(ctx context.Context, name string) error {
	if err := w.fw.ready(ctx); err != nil {
		return err
	}
	if !sys.HasModule("/", "ip_set", "CONFIG_IP_SET") {
		return nil
	}
	s := newNFTSocket()
	defer s.Close()
	_, err := ipsetRequest(s, ipsetCmdDestroy, unix.NLM_F_ACK, sys.TextAttribute(ipsetAttrName, name))
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, ipsetErrBusy):
		return fmt.Errorf("destroy ipset %s: a rule or another set still uses it (`iptables-save | grep %s` shows "+
			"which): %w", name, name, err)
	case err != nil:
		return fmt.Errorf("destroy ipset %s: %w", name, err)
	}
	sys.Changed(w.log, "ipset destroyed", zap.String("ipset", name))
	return nil
}

// ipsetRequest sends a request to ip_set. Its answers have the type of the request.
func ipsetRequest(s nftSocket, kind, flags uint16, attributes ...[]byte) ([]answer, error) {
	kind |= unix.NFNL_SUBSYS_IPSET << 8
	return s.request(kind, kind, flags, unix.AF_INET,
		append([][]byte{sys.NewAttribute(ipsetAttrProtocol, []byte{ipsetProtocol})}, attributes...)...)
}
