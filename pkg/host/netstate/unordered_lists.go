package netstate

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// table is a list of the kernel whose entries have no order, depend on no other entries, and have
// one link each. An entry is the message that adds it again.
type table struct {
	command     string // shows the list; it is the list's name in a journal
	list        func(context.Context, State) ([][]byte, error)
	of          func(m []byte) (link int, by byte) // the entry's link and protocol
	add, remove int                                // requests; 0: entries are only compared
	flags       int                                // for requests that add
}

var tables = []table{
	{"ip -M route", listMPLS, ofMPLS, unix.RTM_NEWROUTE, unix.RTM_DELROUTE, unix.NLM_F_CREATE | unix.NLM_F_EXCL},
	{"bridge mdb", listGroups, ofGroup, unix.RTM_NEWMDB, unix.RTM_DELMDB, unix.NLM_F_CREATE | unix.NLM_F_REPLACE},
	{command: wireGuardTable, list: listWireGuard, of: ofWireGuard},
}

// changeEntry adds or removes an entry.
func changeEntry(request, flags int, m []byte) error {
	return send("change an entry", request, flags, m, unix.EEXIST, unix.ENODEV, unix.ENOENT)
}

// readTables reads all tables, without the entries on links of other programs ([State.hasWriter]).
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

// tick is the largest delay of the kernel's timers (HZ=100).
const tick = 10 * time.Millisecond

// restoreTables adds missing entries. [Writer.Lost] reports what the kernel refuses. It looks again
// after one tick: when a multicast group becomes empty, the kernel removes it by a timer, together
// with entries that were added meanwhile (net/bridge/br_multicast.c, br_multicast_group_expired).
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
