package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// What linux/netfilter/ipset/ip_set.h calls them. Protocol 6 is what every kernel since 2.6.39
// speaks.
const (
	ipsetProtocol     = 6
	ipsetCmdDestroy   = 3
	ipsetCmdList      = 7
	ipsetAttrProtocol = 1
	ipsetAttrName     = 2
	ipsetAttrFlags    = 6
	ipsetOnlyNames    = 1 << 1           // IPSET_FLAG_LIST_SETNAME: not what is in them
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
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	flags := []byte{0, 0, 0, ipsetOnlyNames}
	answers, err := sys.Dump(ctx, "ipsets", func() ([]netlink.Message, error) {
		return ipsetSocket{c}.ask(ipsetCmdList, netlink.Dump,
			netlink.Attribute{Type: ipsetAttrFlags | unix.NLA_F_NET_BYTEORDER, Data: flags})
	})
	if err != nil {
		return nil, fmt.Errorf("list ipsets: %w", err)
	}
	var out []string
	for _, m := range answers {
		if _, body := split(m); sys.Attribute(body, ipsetAttrName) != nil {
			out = append(out, sys.AttributeText(body, ipsetAttrName))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// DelIPSet destroys an ipset with all that is in it; absence is success. One
// that a rule still uses is an error and stays. It may be retried.
func (w *Writer) DelIPSet(ctx context.Context, name string) error {
	if err := w.fw.ready(ctx); err != nil {
		return err
	}
	if !sys.HasModule("/", "ip_set", "CONFIG_IP_SET") {
		return nil
	}
	c, err := dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = ipsetSocket{c}.ask(ipsetCmdDestroy, netlink.Acknowledge,
		netlink.Attribute{Type: ipsetAttrName, Data: append([]byte(name), 0)})
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

type ipsetSocket struct{ *netlink.Conn }

func (s ipsetSocket) ask(
	kind uint16, flags netlink.HeaderFlags, attrs ...netlink.Attribute,
) ([]netlink.Message, error) {
	data, err := netlink.MarshalAttributes(append([]netlink.Attribute{{Type: ipsetAttrProtocol,
		Data: []byte{ipsetProtocol}}}, attrs...))
	if err != nil {
		return nil, err
	}
	out, err := s.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_IPSET<<8 | kind),
			Flags: netlink.Request | flags},
		Data: append([]byte{unix.AF_INET, 0, 0, 0}, data...), // struct nfgenmsg
	})
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
	}
	return out, err
}
