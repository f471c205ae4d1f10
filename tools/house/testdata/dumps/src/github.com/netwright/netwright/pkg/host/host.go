package host

import "github.com/vishvananda/netlink"

func dump[T any](what string, list func() (T, error)) (T, error) { return list() }

func good(h *netlink.Handle) {
	_, _ = netlink.LinkByName("x")
	_, _ = dump("links", netlink.LinkList)
	_, _ = dump("routes", func() (int, error) {
		n, err := h.RouteListFiltered(0)
		return n + 1, err
	})
}

func bad(h *netlink.Handle) {
	_, _ = netlink.LinkList()         // want `netlink.LinkList is a raw dump: hand it to dump of pkg/host`
	_, _ = h.RouteListFiltered(0)     // want `netlink.RouteListFiltered is a raw dump`
	_, _ = again(h.RouteListFiltered) // want `netlink.RouteListFiltered is a raw dump`
}

func again(list func(int) (int, error)) (int, error) { return list(0) }
