package netstate

import (
	"context"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Read reads the state of the network that net reads. It leaves out routes and addresses that the
// kernel both makes and restores by itself. own is [State.Own].
func Read(ctx context.Context, net *rtnl.Reader, own ...string) (out State, err error) {
	out.Own = own
	if out.Links, err = net.Links(ctx); err != nil {
		return out, err
	}
	for _, l := range []struct {
		to   *[][]byte
		list func(context.Context) ([][]byte, error)
	}{
		{&out.Settings, listSettings}, {&out.VLANs, listVLANs}, {&out.Addresses, listAddresses},
		{&out.Nexthops, listNexthops}, {&out.Qdiscs, listQdiscs}, {&out.Rules, listRules},
		{&out.Neighbours, out.writtenDown}, {&out.Entries, out.listEntries},
	} {
		if *l.to, err = l.list(ctx); err != nil {
			return out, err
		}
	}
	if out.Routes, out.Expires, err = listRoutes(ctx); err != nil {
		return out, err
	}
	out.Tables, err = readTables(ctx, out)
	return out, err
}
