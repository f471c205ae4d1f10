package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
)

const hostLocal = "host-local"

// handOn are the reference plugins that pass their own `ipam` unchanged to the IPAM plugin. Calico
// and others first add the node's range to it.
var handOn = []string{"bridge", "host-device", "ipvlan", "macvlan", "ptp", "vlan"}

// hostLocalConf is the part of `ipam` that host-local reads.
// https://github.com/containernetworking/plugins/blob/v1.9.1/plugins/ipam/host-local/backend/allocator/config.go
type hostLocalConf struct {
	hostLocalRange
	Ranges  [][]hostLocalRange `json:"ranges"`
	DataDir string             `json:"dataDir"`
}

// sets are the sets of ranges: a pod gets one address of each.
func (c hostLocalConf) sets() [][]hostLocalRange {
	if c.Subnet.IP != nil {
		return append([][]hostLocalRange{{c.hostLocalRange}}, c.Ranges...)
	}
	return c.Ranges
}

type hostLocalRange struct {
	Subnet  types.IPNet `json:"subnet"`
	Start   net.IP      `json:"rangeStart"`
	End     net.IP      `json:"rangeEnd"`
	Gateway net.IP      `json:"gateway"`
}

// noAddress returns why host-local cannot give a pod an address with this plugin's conf.
func (p CNIPlugin) noAddress() error {
	if p.addresses() != hostLocal || !slices.Contains(handOn, p.Type) {
		return nil
	}
	var conf hostLocalConf
	if err := json.Unmarshal(p.IPAM, &conf); err != nil {
		return err // refused adds the plugin's name
	}
	sets := conf.sets()
	if len(sets) == 0 && !p.Capabilities["ipRanges"] { // with this capability kubelet passes the node's range
		return errors.New("it has no range: give it a `subnet`, or `ranges`")
	}
	var all []addressRange
	for i, set := range sets {
		if len(set) == 0 {
			return fmt.Errorf("the set %d of its `ranges` is empty", i+1)
		}
		first := len(all)
		for _, r := range set {
			bounds, err := r.bounds()
			if err != nil {
				return err
			}
			if len(all) > first && bounds.from.Is4() != all[first].from.Is4() {
				return fmt.Errorf("the set %d of its `ranges` has both families", i+1)
			}
			if j := slices.IndexFunc(all, bounds.overlaps); j >= 0 {
				return fmt.Errorf("%s-%s and %s-%s overlap", all[j].from, all[j].to, bounds.from, bounds.to)
			}
			all = append(all, bounds)
		}
	}
	return nil
}

// addressRange is the addresses from the first to the last one.
type addressRange struct{ from, to netip.Addr }

func (r addressRange) overlaps(o addressRange) bool {
	return r.from.Is4() == o.from.Is4() && r.from.Compare(o.to) <= 0 && o.from.Compare(r.to) <= 0
}

// bounds returns the range from which host-local takes addresses.
func (r hostLocalRange) bounds() (addressRange, error) {
	addr, ok := netip.AddrFromSlice(r.Subnet.IP)
	ones, _ := r.Subnet.Mask.Size()
	if !ok {
		return addressRange{}, errors.New("one of its `ranges` has no `subnet`")
	}
	subnet := netip.PrefixFrom(addr.Unmap(), ones)
	switch {
	case ones > addr.Unmap().BitLen()-2:
		return addressRange{}, fmt.Errorf("`subnet` %s is too small to give addresses from", subnet)
	case subnet != subnet.Masked():
		return addressRange{},
			fmt.Errorf("`subnet` %s has bits of hosts: the network's address is %s", subnet, subnet.Masked())
	}
	out := addressRange{subnet.Addr().Next(), lastOf(subnet)}
	for _, given := range []struct {
		field string
		ip    net.IP
		to    *netip.Addr
	}{{"rangeStart", r.Start, &out.from}, {"rangeEnd", r.End, &out.to}} {
		if given.ip == nil {
			continue
		}
		addr, _ := netip.AddrFromSlice(given.ip)
		if addr = addr.Unmap(); !subnet.Contains(addr) {
			return addressRange{}, fmt.Errorf("`%s` %s is not in `subnet` %s", given.field, addr, subnet)
		}
		*given.to = addr
	}
	if out.from.Compare(out.to) > 0 {
		return addressRange{}, fmt.Errorf("`rangeStart` %s comes after `rangeEnd` %s", out.from, out.to)
	}
	return out, nil
}

// lastOf returns the last address of a subnet that a pod can have: without IPv4's broadcast
// address.
func lastOf(subnet netip.Prefix) netip.Addr {
	bytes := subnet.Addr().AsSlice()
	for i := subnet.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	if last.Is4() {
		return last.Prev()
	}
	return last
}
