package netstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// wireGuardTable is the name of the list of WireGuard links.
const wireGuardTable = "wg show"

// listWireGuard lists one entry for each WireGuard link, with a digest of its keys, ports and
// peers, because a journal must not contain keys. Without such a link the kernel is not asked: the
// request would load the module.
func listWireGuard(ctx context.Context, of State) ([][]byte, error) {
	out := [][]byte{}
	for _, l := range of.Links {
		if l.Kind != "wireguard" || of.hasWriter(l.Name) {
			continue
		}
		list, err := wireGuard(ctx, l.Index)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the peers of link %s: %w", l.Name, err)
		}
		sum := sha256.Sum256(bytes.Join(list, nil))
		out = append(out, append(binary.NativeEndian.AppendUint32(make([]byte, 4), uint32(l.Index)), sum[:]...))
	}
	return out, nil
}

// ofWireGuard returns the link of an entry. An entry cannot be added again.
func ofWireGuard(m []byte) (link int, by byte) { return linkOf(m), unix.RTPROT_KERNEL }

// Constants of linux/wireguard.h.
const (
	getDevice   = 0 // WG_CMD_GET_DEVICE
	deviceIndex = 1 // WGDEVICE_A_IFINDEX
	devicePeers = 8 // WGDEVICE_A_PEERS
	peerKey     = 1 // WGPEER_A_PUBLIC_KEY
	peerRanges  = 9 // WGPEER_A_ALLOWEDIPS
)

// The attributes of a link and of a peer that users set: private key, port and mark; preshared key
// and keepalive interval. The other attributes follow from these, or change by themselves, such as
// the last known endpoint of a peer.
var (
	deviceSettings = []uint16{3, 6, 7}
	peerSettings   = []uint16{2, 5}
)

// wireGuard lists the settings of a link, sorted. If the ranges of a peer do not fit into one
// message, the kernel repeats the peer.
func wireGuard(ctx context.Context, index int) ([][]byte, error) {
	family, err := netlink.GenlFamilyGet("wireguard")
	if err != nil {
		return nil, err
	}
	answers, err := sys.Dump(ctx, "peers", func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
		req.AddData(&nl.Genlmsg{Command: getDevice, Version: 1})
		req.AddRawData(sys.NumberAttribute(deviceIndex, uint32(index)))
		return req.Execute(unix.NETLINK_GENERIC, 0)
	})
	var out [][]byte
	for _, m := range answers {
		sys.EachAttribute(m[min(len(m), nl.SizeofGenlmsg):], func(kind uint16, whole, peers []byte) {
			if slices.Contains(deviceSettings, kind) {
				out = append(out, whole)
			}
			if kind != devicePeers {
				return
			}
			sys.EachAttribute(peers, func(_ uint16, _, peer []byte) {
				key := sys.Attribute(peer, peerKey)
				sys.EachAttribute(peer, func(kind uint16, whole, ranges []byte) {
					if slices.Contains(peerSettings, kind) {
						out = append(out, slices.Concat(key, whole))
					}
					if kind == peerRanges {
						sys.EachAttribute(ranges, func(_ uint16, _, one []byte) { out = append(out, slices.Concat(key, one)) })
					}
				})
			})
		})
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal), err
}
