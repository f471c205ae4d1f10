package netstate

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// table is a list of the kernel's whose entries have no order, need no others, and have a link
// each. An entry is the message that makes it again.
type table struct {
	command     string // lists it, and names it in a journal
	list        func(context.Context, State) ([][]byte, error)
	of          func(m []byte) (link int, by byte) // the link of an entry; the protocol of who wrote it down
	add, remove int                                // requests; 0: there are none, an entry only tells
	flags       int                                // of those that add
}

var tables = []table{
	{"ip -M route", listMPLS, ofMPLS, unix.RTM_NEWROUTE, unix.RTM_DELROUTE, unix.NLM_F_CREATE | unix.NLM_F_EXCL},
	{"bridge mdb", listGroups, ofGroup, unix.RTM_NEWMDB, unix.RTM_DELMDB, unix.NLM_F_CREATE | unix.NLM_F_REPLACE},
	{command: "wg show", list: listWireGuard, of: ofWireGuard},
}

// changeEntry adds or removes an entry.
func changeEntry(request, flags int, m []byte) error {
	return send("change an entry", request, flags, m, unix.EEXIST, unix.ENODEV, unix.ENOENT)
}

// readTables reads all tables, without what is of links of Kubernetes.
func readTables(ctx context.Context, of State) (map[string][][]byte, error) {
	out, theirs := map[string][][]byte{}, of.hasWriters()
	for _, t := range tables {
		list, err := t.list(ctx, of)
		if err != nil {
			return nil, err
		}
		out[t.command] = slices.DeleteFunc(list, func(m []byte) bool {
			link, _ := t.of(m)
			return theirs(link)
		})
	}
	return out, nil
}

// tick is the longest that the kernel's timers are late (HZ=100).
const tick = 10 * time.Millisecond

// restoreTables brings entries back. What the kernel refuses is said by [Writer.Lost]. It looks
// again a tick later: a multicast group that has just become empty is removed by a timer, with
// whatever came into it meanwhile (net/bridge/br_multicast.c, br_multicast_group_expired).
func restoreTables(ctx context.Context, was State) error {
	for _, t := range tables {
		for try := 0; t.add != 0 && try < 3; try++ {
			now, err := t.list(ctx, was)
			if err != nil {
				return err
			}
			gone := missing(was.Tables[t.command], now)
			if len(gone) == 0 {
				break
			}
			for _, m := range gone {
				_ = changeEntry(t.add, t.flags, m)
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(tick):
			}
		}
	}
	return nil
}
