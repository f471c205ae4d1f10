package netstate

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// table is a list of the kernel's whose entries have no order and need no others. Each entry is the
// message that makes it again.
type table struct {
	command     string // lists it, and names it in a journal
	list        func(context.Context) ([][]byte, error)
	add, remove func(m []byte) error
	link        func(m []byte) int // 0: it is of none
	by          func(m []byte) byte
}

var tables = []table{
	{
		command: "bridge mdb", list: listGroups, link: groupLink, by: groupBy,
		add: func(m []byte) error {
			return send("bring a multicast group back", unix.RTM_NEWMDB, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m, unix.EEXIST)
		},
		remove: func(m []byte) error {
			return send("remove a multicast group", unix.RTM_DELMDB, 0, m, unix.ENODEV, unix.ENOENT)
		},
	},
}

// readTables reads all tables, without what is of links of Kubernetes.
func readTables(ctx context.Context, links []rtnl.Link) (map[string][][]byte, error) {
	out, names := map[string][][]byte{}, rtnl.NamesOf(links)
	for _, t := range tables {
		list, err := t.list(ctx)
		if err != nil {
			return nil, err
		}
		out[t.command] = slices.DeleteFunc(list, func(m []byte) bool { return sys.OfKubernetes(names[t.link(m)]) })
	}
	return out, nil
}

// restoreTables brings entries back. What the kernel refuses is said by [Writer.Lost].
func restoreTables(ctx context.Context, was State) error {
	for _, t := range tables {
		now, err := t.list(ctx)
		if err != nil {
			return err
		}
		for _, m := range missing(was.Tables[t.command], now) {
			_ = t.add(m)
		}
	}
	return nil
}

// lostEntries says of which links entries are not as they were. Those of a link that is gone went
// with it.
func (s State) lostEntries(now State) (out []string) {
	there, names := rtnl.NamesOf(now.Links), rtnl.NamesOf(s.Links)
	for _, t := range tables {
		for _, m := range missing(s.Tables[t.command], now.Tables[t.command]) {
			link, what := t.link(m), "entries ("+t.command+")"
			if link != 0 {
				what = "entries of link " + names[link] + " (" + t.command + ")"
			}
			if (link == 0 || there[link] != "") && !slices.Contains(out, what) {
				out = append(out, what)
			}
		}
	}
	return out
}
