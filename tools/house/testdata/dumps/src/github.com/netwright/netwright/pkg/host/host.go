package host

import (
	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

func good(h *netlink.Handle) {
	_, _ = netlink.LinkByName("x")
	_, _ = sys.Dump("links", netlink.LinkList)
	_, _ = sys.Dump("routes", func() (int, error) {
		n, err := h.RouteListFiltered(0)
		return n + 1, err
	})
}

func bad(h *netlink.Handle) {
	_, _ = netlink.LinkList()         // want `netlink.LinkList is a raw dump: hand it to Dump of pkg/host/internal/sys`
	_, _ = h.RouteListFiltered(0)     // want `netlink.RouteListFiltered is a raw dump`
	_, _ = again(h.RouteListFiltered) // want `netlink.RouteListFiltered is a raw dump`
}

func again(list func(int) (int, error)) (int, error) { return list(0) }
