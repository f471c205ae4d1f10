package netstate

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// linkSettings are attributes of every link that the kernel both lists and accepts, besides MTU,
// MAC, flags, name and master (net/core/rtnetlink.c, do_setlink).
var linkSettings = []uint16{
	unix.IFLA_TXQLEN, unix.IFLA_IFALIAS, unix.IFLA_GROUP, unix.IFLA_GSO_MAX_SEGS, unix.IFLA_GSO_MAX_SIZE,
	unix.IFLA_GRO_MAX_SIZE, unix.IFLA_GSO_IPV4_MAX_SIZE, unix.IFLA_GRO_IPV4_MAX_SIZE,
}

// spans are ranges of attribute numbers, each with its first and last number.
type spans [][2]uint16

// The attributes of a link's own kind, and those of its master's kind.
const (
	ofLink = unix.IFLA_INFO_DATA
	ofPort = unix.IFLA_INFO_SLAVE_DATA
)

// kindSettings are the attributes that the kernel accepts one by one. It has only the kinds whose
// data also contains values that the kernel sets: timers, counters. For all other kinds, every
// attribute is a setting.
var kindSettings = map[uint16]map[string]spans{
	ofLink: {
		"bridge": {
			{unix.IFLA_BR_FORWARD_DELAY, unix.IFLA_BR_GROUP_FWD_MASK}, {unix.IFLA_BR_GROUP_ADDR, unix.IFLA_BR_GROUP_ADDR},
			{unix.IFLA_BR_MCAST_ROUTER, unix.IFLA_BR_VLAN_DEFAULT_PVID},
			{unix.IFLA_BR_VLAN_STATS_ENABLED, unix.IFLA_BR_MULTI_BOOLOPT},
			{unix.IFLA_BR_FDB_MAX_LEARNED, unix.IFLA_BR_FDB_MAX_LEARNED},
		},
		"bond": {
			{unix.IFLA_BOND_MODE, unix.IFLA_BOND_MODE}, {unix.IFLA_BOND_MIIMON, unix.IFLA_BOND_AD_SELECT},
			{unix.IFLA_BOND_AD_ACTOR_SYS_PRIO, unix.IFLA_BOND_COUPLED_CONTROL},
		},
		"vlan":    {{unix.IFLA_VLAN_FLAGS, unix.IFLA_VLAN_INGRESS_QOS}},
		"macvlan": macvlanSettings,
		"macvtap": macvlanSettings,
		"ipvlan":  {{unix.IFLA_IPVLAN_MODE, unix.IFLA_IPVLAN_FLAGS}},
	},
	ofPort: {
		"bridge": {
			{unix.IFLA_BRPORT_PRIORITY, unix.IFLA_BRPORT_PROXYARP_WIFI},
			{unix.IFLA_BRPORT_MULTICAST_ROUTER, unix.IFLA_BRPORT_BACKUP_PORT},
			{unix.IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT, unix.IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT},
			{unix.IFLA_BRPORT_LOCKED, unix.IFLA_BRPORT_MAB},
			{unix.IFLA_BRPORT_MCAST_MAX_GROUPS, unix.IFLA_BRPORT_BACKUP_NHID},
		},
		"bond": {
			{unix.IFLA_BOND_SLAVE_QUEUE_ID, unix.IFLA_BOND_SLAVE_QUEUE_ID},
			{unix.IFLA_BOND_SLAVE_PRIO, unix.IFLA_BOND_SLAVE_PRIO},
		},
	},
}

var macvlanSettings = spans{{unix.IFLA_MACVLAN_MODE, unix.IFLA_MACVLAN_FLAGS},
	{unix.IFLA_MACVLAN_MACADDR_COUNT, unix.IFLA_MACVLAN_BC_QUEUE_LEN}}

// runningKinds are kinds whose data contains counters, or what a program has open. Their data is
// not compared, because Lost would report it as changed.
var runningKinds = []string{"can", "hsr", "tun"}

// wholeKinds are tunnels for which the kernel needs all settings in one request: it resets a
// missing one (net/ipv4/ip_gre.c, ipgre_changelink).
var wholeKinds = []string{
	"gre", "gretap", "erspan", "ip6gre", "ip6gretap", "ip6erspan", "ipip", "sit", "ip6tnl", "vti", "vti6", "xfrm",
}

// vlanFlags are all flags of a VLAN link as of Linux 5.2 (linux/if_vlan.h, vlan_flags).
const vlanFlags = 0x1f

// listSettings lists the settings of all links: for each link one message, in which each attribute
// sets one setting to its present value.
func listSettings(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "settings of links", unix.RTM_GETLINK, unix.SizeofIfInfomsg, settingsMessage,
		rtnl.LinkQuestion()...)
}

func settingsMessage(m []byte) []byte {
	out := make([]byte, unix.SizeofIfInfomsg)
	copy(out[4:8], m[4:])
	alias := sys.NewAttribute(unix.IFLA_IFALIAS, nil)
	sys.EachAttribute(m[unix.SizeofIfInfomsg:], func(kind uint16, whole, value []byte) {
		switch {
		case kind == unix.IFLA_IFALIAS:
			alias = whole
		case slices.Contains(linkSettings, kind):
			out = append(out, whole...)
		case kind == unix.IFLA_LINKINFO:
			out = infoSettings(infoSettings(out, value, unix.IFLA_INFO_KIND, ofLink), value, unix.IFLA_INFO_SLAVE_KIND, ofPort)
		case kind == unix.IFLA_PROP_LIST:
			sys.EachAttribute(value, func(_ uint16, name, _ []byte) {
				out = append(out, sys.NestedAttribute(unix.IFLA_PROP_LIST, name)...)
			})
		case kind == unix.IFLA_AF_SPEC:
			if token := sys.Attribute(sys.Attribute(value, unix.AF_INET6), unix.IFLA_INET6_TOKEN); token != nil {
				token = sys.NewAttribute(unix.IFLA_INET6_TOKEN, token)
				out = append(out, sys.NestedAttribute(unix.IFLA_AF_SPEC, sys.NestedAttribute(unix.AF_INET6, token))...)
			}
		}
	})
	return append(out, alias...)
}

// infoSettings adds the settings of a link's own kind, or those of its master's kind.
func infoSettings(out, info []byte, ofKind, ofData uint16) []byte {
	kind, data := sys.Attribute(info, ofKind), sys.Attribute(info, ofData)
	name := unix.ByteSliceToString(kind)
	set := func(data []byte) {
		out = append(out, sys.NestedAttribute(unix.IFLA_LINKINFO, sys.NewAttribute(ofKind, kind), sys.NestedAttribute(ofData, data))...)
	}
	if ofData == ofLink && slices.Contains(wholeKinds, name) {
		set(data)
		return out
	}
	some, listed := kindSettings[ofData][name]
	all := !listed && !slices.Contains(runningKinds, name)
	sys.EachAttribute(data, func(at uint16, whole, _ []byte) {
		if all || slices.ContainsFunc(some, func(s [2]uint16) bool { return s[0] <= at && at <= s[1] }) {
			set(taken(name, at, whole, data))
		}
	})
	return out
}

// sourcesSet makes the kernel replace the list of source addresses of a macvlan (linux/if_link.h,
// MACVLAN_MACADDR_SET).
const sourcesSet = 3

// taken returns a setting in the form that the kernel accepts, which can differ from the listed
// one.
func taken(kind string, at uint16, whole, data []byte) []byte {
	switch {
	case kind == "vlan" && at == unix.IFLA_VLAN_FLAGS: // the listed mask has bits that are refused
		whole = bytes.Clone(whole)
		binary.NativeEndian.PutUint32(whole[8:], vlanFlags)
	case kind == "macsec" && at == unix.IFLA_MACSEC_REPLAY_PROTECT: // only together with its window
		if window := sys.Attribute(data, unix.IFLA_MACSEC_WINDOW); window != nil {
			whole = append(bytes.Clone(whole), sys.NewAttribute(unix.IFLA_MACSEC_WINDOW, window)...)
		}
	case (kind == "macvlan" || kind == "macvtap") && at == unix.IFLA_MACVLAN_MACADDR_COUNT:
		var list []string
		sys.EachAttribute(sys.Attribute(data, unix.IFLA_MACVLAN_MACADDR_DATA), func(_ uint16, source, _ []byte) {
			list = append(list, string(source))
		})
		slices.Sort(list)
		whole = append(sys.NumberAttribute(unix.IFLA_MACVLAN_MACADDR_MODE, sourcesSet),
			sys.NestedAttribute(unix.IFLA_MACVLAN_MACADDR_DATA, []byte(strings.Join(list, "")))...)
	}
	return whole
}

// settings returns the attributes in the message of one link.
func settings(list [][]byte, index int) (out [][]byte) {
	for _, m := range list {
		if linkOf(m) == index {
			sys.EachAttribute(m[unix.SizeofIfInfomsg:], func(_ uint16, whole, _ []byte) { out = append(out, whole) })
		}
	}
	return out
}

// linkOf returns the link index in the header of a link, address or neighbour message.
func linkOf(m []byte) int { return int(binary.NativeEndian.Uint32(m[4:])) }

// restoreSettings restores the other settings of links, after their masters. A link of another
// program ([State.hasWriter]) that has a new index was created again, and the program that created
// it has set it. restoreLinks calls it twice, because some settings depend on others. [Writer.Lost]
// reports what the kernel still refuses.
func restoreSettings(ctx context.Context, was State, now map[string]rtnl.Link) error {
	list, err := listSettings(ctx)
	if err != nil {
		return err
	}
	for _, l := range was.Links {
		have, there := now[l.Name]
		if !there || have.Index != l.Index && was.hasWriter(l.Name) {
			continue
		}
		wanted, is := settings(was.Settings, l.Index), settings(list, have.Index)
		for _, s := range append(unset(is, wanted), missing(wanted, is)...) {
			kind := unix.RTM_NEWLINK
			if isOtherName(s) {
				kind = unix.RTM_NEWLINKPROP
			}
			_ = sendLink(kind, have.Index, 0, 0, s)
		}
		for _, s := range missing(is, wanted) {
			if wanted != nil && isOtherName(s) {
				_ = sendLink(unix.RTM_DELLINKPROP, have.Index, 0, 0, s)
			}
		}
	}
	return nil
}

// isOtherName reports whether a setting is an alternative name. A link can have several.
func isOtherName(s []byte) bool {
	return binary.NativeEndian.Uint16(s[2:]) == unix.IFLA_PROP_LIST|unix.NLA_F_NESTED
}

// unset returns settings of a kind with the value zero, for those that had no value before, such as
// the primary port of a bond. The kernel does not list such a setting.
func unset(is, wanted [][]byte) (out [][]byte) {
	if wanted == nil { // an earlier release did not read them
		return nil
	}
	were := map[string]bool{}
	for _, s := range wanted {
		name, _ := kindSetting(s)
		were[name] = true
	}
	for _, s := range is {
		if name, value := kindSetting(s); value > 0 && !were[name] {
			zero := slices.Clone(s)
			clear(zero[value:])
			out = append(out, zero)
		}
	}
	return out
}

// kindSetting returns a name for a setting of a kind, and where its value begins. The name is all
// bytes before the value, without lengths. value is 0 if it is not a setting of a kind.
func kindSetting(s []byte) (name string, value int) {
	if binary.NativeEndian.Uint16(s[2:]) != unix.IFLA_LINKINFO|unix.NLA_F_NESTED {
		return "", 0
	}
	data := 4 + (int(binary.NativeEndian.Uint16(s[4:]))+3)&^3 // after the kind
	if value = data + 8; len(s) < value {
		return "", 0
	}
	return string(s[4:data]) + string(s[data+2:data+4]) + string(s[value-2:value]), value
}
