package netstate

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// listVLANs lists the VLANs of each bridge and each bridge port, with ranges as the kernel lists
// them.
func listVLANs(ctx context.Context) ([][]byte, error) {
	ask := append(make([]byte, unix.SizeofIfInfomsg),
		sys.NumberAttribute(unix.IFLA_EXT_MASK, nl.RTEXT_FILTER_BRVLAN_COMPRESSED)...)
	ask[0] = unix.AF_BRIDGE
	return rawList(ctx, "VLANs of bridges", unix.RTM_GETLINK, unix.SizeofIfInfomsg, func(m []byte) []byte {
		body := m[unix.SizeofIfInfomsg:]
		master, vlans := sys.Attribute(body, unix.IFLA_MASTER), sys.Attribute(body, unix.IFLA_AF_SPEC)
		if master == nil || sys.Attribute(vlans, nl.IFLA_BRIDGE_FLAGS) != nil { // its device has a switch
			return nil
		}
		port := slices.Clone(m[:unix.SizeofIfInfomsg])
		sys.EachAttribute(body, func(kind uint16, whole, _ []byte) {
			if kind == unix.IFLA_MASTER || kind == unix.IFLA_AF_SPEC {
				port = append(port, whole...)
			}
		})
		return port
	}, ask...)
}

// vlansOf returns the bridge and the VLANs of a message. Each VLAN has its flags on the port, such
// as untagged (linux/if_bridge.h, bridge_vlan_info).
func vlansOf(m []byte) (bridge int, flags map[uint16]uint16) {
	body := m[unix.SizeofIfInfomsg:]
	flags = map[uint16]uint16{}
	first := uint16(0)
	sys.EachAttribute(sys.Attribute(body, unix.IFLA_AF_SPEC), func(kind uint16, _, value []byte) {
		if kind != nl.IFLA_BRIDGE_VLAN_INFO || len(value) < 4 {
			return
		}
		is, id := binary.NativeEndian.Uint16(value), binary.NativeEndian.Uint16(value[2:])
		switch {
		case is&nl.BRIDGE_VLAN_INFO_RANGE_BEGIN != 0:
			first = id
			return
		case is&nl.BRIDGE_VLAN_INFO_RANGE_END == 0:
			first = id
		}
		for n := first; n <= id; n++ {
			flags[n] = is & (nl.BRIDGE_VLAN_INFO_PVID | nl.BRIDGE_VLAN_INFO_UNTAGGED)
		}
	})
	return sys.Number(sys.Attribute(body, unix.IFLA_MASTER)), flags
}

// restoreVLANs restores the VLANs of bridges, and of ports that have their old bridge again. A port
// loses its VLANs when it leaves the bridge. When it joins again, it gets the bridge's default
// VLAN.
func restoreVLANs(ctx context.Context, was State, now map[string]rtnl.Link) error {
	list, err := listVLANs(ctx)
	if err != nil {
		return err
	}
	ports := map[int][]byte{}
	for _, m := range list {
		ports[linkOf(m)] = m
	}
	names := rtnl.NamesOf(was.Links)
	var errs []error
	for _, m := range was.VLANs {
		have := now[names[linkOf(m)]]
		port, there := ports[have.Index]
		if !there || have.Index != linkOf(m) && was.hasWriter(have.Name) {
			continue
		}
		bridge, wanted := vlansOf(m)
		on, has := vlansOf(port)
		if now[names[bridge]].Index == on {
			errs = append(errs, restoreVLANsOf(have.Index, have.Index == on, wanted, has))
		}
	}
	return errors.Join(errs...)
}

func restoreVLANsOf(link int, bridge bool, wanted, has map[uint16]uint16) error {
	var errs []error
	change := func(kind int, id, flags uint16) {
		m := make([]byte, unix.SizeofIfInfomsg)
		m[0] = unix.AF_BRIDGE
		binary.NativeEndian.PutUint32(m[4:], uint32(link))
		number := func(n uint16) []byte { return binary.NativeEndian.AppendUint16(nil, n) }
		of := sys.NewAttribute(nl.IFLA_BRIDGE_VLAN_INFO, append(number(flags), number(id)...))
		if bridge {
			of = append(sys.NewAttribute(nl.IFLA_BRIDGE_FLAGS, number(nl.BRIDGE_FLAGS_SELF)), of...)
		}
		errs = append(errs, send("bring the VLANs of a port back", kind, 0, append(m, sys.NestedAttribute(unix.IFLA_AF_SPEC, of)...),
			unix.ENODEV, unix.ENOENT))
	}
	for id := range has {
		if _, keep := wanted[id]; !keep {
			change(unix.RTM_DELLINK, id, 0)
		}
	}
	for id, flags := range wanted {
		if is, there := has[id]; !there || is != flags {
			change(unix.RTM_SETLINK, id, flags)
		}
	}
	return errors.Join(errs...)
}
