package netstate

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Constants of linux/rtnetlink.h.
const (
	qdiscHead    = 20 // sizeof(struct tcmsg): with a link, a handle and a parent
	qdiscKind    = 1  // TCA_KIND
	qdiscOptions = 2  // TCA_OPTIONS
)

// classless are the queueing disciplines that are fully described by their own options. The classes
// and filters of others are not recorded. mq gives each queue of a device the kernel's default.
var classless = []string{"bfifo", "cake", "codel", "fq", "fq_codel", "fq_pie", "mq", "noqueue", "pfifo", "pfifo_fast",
	"pie", "sfq", "tbf"}

// restoreQdiscs restores the root queueing disciplines of links, if they need neither classes nor
// filters. [Writer.Lost] reports what the kernel refuses.
func restoreQdiscs(ctx context.Context, was State) error {
	now, err := listQdiscs(ctx)
	if err != nil {
		return err
	}
	theirs := was.hasWriters()
	const links, parent = 8, 12 // where the link index and the parent end
	for _, q := range missing(was.Qdiscs, now) {
		if theirs(linkOf(q)) || binary.NativeEndian.Uint32(q[links:]) != netlink.HANDLE_ROOT ||
			!slices.Contains(classless, sys.AttributeText(q[parent:], qdiscKind)) {
			continue
		}
		m := slices.Concat(q[:links], make([]byte, 4), q[links:parent], make([]byte, 4), q[parent:])
		_ = send("bring a queueing discipline back", unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m)
	}
	return nil
}

// listQdiscs lists the queueing disciplines of links (`tc qdisc`) without handles, which the kernel
// chooses.
func listQdiscs(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "queueing disciplines", unix.RTM_GETQDISC, qdiscHead, func(m []byte) []byte {
		if sys.AttributeText(m[qdiscHead:], qdiscKind) == "noop" { // the link was never up
			return nil
		}
		parent := binary.NativeEndian.Uint32(m[12:])
		if parent>>16 != netlink.HANDLE_ROOT>>16 { // not the root
			parent &= 0xffff
		}
		q := binary.NativeEndian.AppendUint32(slices.Concat(make([]byte, 4), m[4:8]), parent)
		sys.EachAttribute(m[qdiscHead:], func(kind uint16, whole, _ []byte) {
			if kind == qdiscKind || kind == qdiscOptions {
				q = append(q, whole...)
			}
		})
		return q
	})
}
