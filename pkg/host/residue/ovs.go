package residue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/openvswitch.h.
const (
	ovsDatapathFamily  = "ovs_datapath"
	ovsDatapathVersion = 2
	ovsVportFamily     = "ovs_vport"
	ovsVportVersion    = 1
	ovsDel             = 2 // OVS_DP_CMD_DEL
	ovsGet             = 3 // OVS_DP_CMD_GET, OVS_VPORT_CMD_GET
	ovsDatapathName    = 1 // OVS_DP_ATTR_NAME
	ovsVportName       = 3 // OVS_VPORT_ATTR_NAME
	ovsHead            = 4 // struct ovs_header: the index of the datapath
)

// Datapath is a switch of Open vSwitch in the kernel, with or without ovs-vswitchd.
type Datapath struct {
	Name  string
	Ports []string // without the datapath's own port

	index uint32
}

// Datapaths lists the switches of Open vSwitch in the kernel, without loading a module.
func (r Reader) Datapaths(ctx context.Context) ([]Datapath, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	if !sys.HasModule("/", "openvswitch", "CONFIG_OPENVSWITCH") {
		return nil, nil
	}
	answers, err := genl(ctx, ovsDatapathFamily, ovsDatapathVersion, ovsGet, unix.NLM_F_DUMP, ovsHeader(0))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the datapaths of Open vSwitch: %w", err)
	}
	var out []Datapath
	for _, m := range answers {
		d := Datapath{Name: ovsName(m, ovsDatapathName), index: uint32(sys.Number(m))}
		ports, err := genl(ctx, ovsVportFamily, ovsVportVersion, ovsGet, unix.NLM_F_DUMP, ovsHeader(d.index))
		if err != nil && !errors.Is(err, unix.ENODEV) {
			return nil, fmt.Errorf("list the ports of datapath %s: %w", d.Name, err)
		}
		for _, p := range ports {
			if port := ovsName(p, ovsVportName); port != d.Name {
				d.Ports = append(d.Ports, port)
			}
		}
		slices.Sort(d.Ports)
		out = append(out, d)
	}
	return out, nil
}

func ovsName(m []byte, kind uint16) string { return sys.AttributeText(m[min(ovsHead, len(m)):], kind) }

type ovsHeader uint32

// Len and Serialize implement [nl.NetlinkRequestData].
func (ovsHeader) Len() int            { return ovsHead }
func (h ovsHeader) Serialize() []byte { return binary.NativeEndian.AppendUint32(nil, uint32(h)) }

// DelDatapath removes a datapath with its own links (kind openvswitch). Other links that were its
// ports stay, without datapath. A missing datapath is success. If a physical device is a port, this
// is an error. It may be retried.
func (w Writer) DelDatapath(ctx context.Context, name string) error {
	all, err := w.Datapaths(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(d Datapath) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	devices, err := w.Devices(ctx)
	if err != nil {
		return fmt.Errorf("remove datapath %s: %w", name, err)
	}
	for _, device := range devices {
		if slices.Contains(all[i].Ports, device) {
			return fmt.Errorf("remove datapath %s: %s, a device of the machine, is plugged into it: move its "+
				"addresses back and take it out first", name, device)
		}
	}
	_, err = genl(ctx, ovsDatapathFamily, ovsDatapathVersion, ovsDel, unix.NLM_F_ACK, ovsHeader(0),
		nl.NewRtAttr(ovsDatapathName, nl.ZeroTerminated(name)))
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove datapath %s: %w", name, err)
	}
	w.changed("datapath of Open vSwitch removed", zap.String("datapath", name))
	return nil
}

// ChangeOVS removes bridges and settings from the database of Open vSwitch, and waits until
// ovs-vswitchd has applied this. Missing ones are success. If a physical device is a port of a
// bridge and the bridge itself has an address, this is an error. It may be retried.
func (w Writer) ChangeOVS(ctx context.Context, socket string, bridges, keys []string) error {
	db, err := w.ovsdb(ctx, socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sys.ErrNoListener) {
		return nil // Open vSwitch does not run
	}
	if err != nil {
		return err
	}
	defer db.Close()
	before, err := db.state()
	if err != nil {
		return err
	}
	devices, err := w.Devices(ctx)
	if err != nil {
		return err
	}
	for _, bridge := range bridges {
		i := slices.IndexFunc(devices,
			func(device string) bool { return slices.Contains(before.Ports[bridge], device) })
		if i < 0 {
			continue
		}
		holds, err := hasAddress(ctx, bridge)
		if err != nil {
			return err
		}
		if holds {
			return fmt.Errorf("remove bridge %s of Open vSwitch: it holds %s, and the machine's addresses: move them "+
				"back first (`ip addr show %s`)", bridge, devices[i], bridge)
		}
	}
	if err := db.change(ctx, before, bridges, keys); err != nil {
		return fmt.Errorf("remove %v from Open vSwitch: %w", append(slices.Clone(bridges), keys...), err)
	}
	w.changed("removed from Open vSwitch", zap.Strings("bridges", bridges), zap.Strings("keys", keys))
	return nil
}

// hasAddress reports whether a link has a global address.
func hasAddress(ctx context.Context, name string) (bool, error) {
	l, err := linkByName(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	addresses, err := sys.Dump(ctx, "addresses of "+name,
		func() ([]netlink.Addr, error) { return netlink.AddrList(l, netlink.FAMILY_ALL) })
	return slices.ContainsFunc(addresses, func(a netlink.Addr) bool { return a.Scope == unix.RT_SCOPE_UNIVERSE }), err
}
