package netstate

import (
	"context"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Read reads the state of the network that net reads. Routes and addresses that the kernel makes by
// itself are left out where it also brings them back by itself. own is [State.Own].
func Read(ctx context.Context, net *rtnl.Reader, own ...string) (out State, err error) {
	out.Own = own
	if out.Links, err = net.Links(ctx); err != nil {
		return out, err
	}
	if out.Settings, err = listSettings(ctx); err != nil {
		return out, err
	}
	if out.VLANs, err = listVLANs(ctx); err != nil {
		return out, err
	}
	if out.Addresses, err = listAddresses(ctx); err != nil {
		return out, err
	}
	if out.Routes, out.Expires, err = listRoutes(ctx); err != nil {
		return out, err
	}
	if out.Nexthops, err = listNexthops(ctx); err != nil {
		return out, err
	}
	if out.Neighbours, err = writtenDown(ctx, out); err != nil {
		return out, err
	}
	if out.Qdiscs, err = listQdiscs(ctx); err != nil {
		return out, err
	}
	if out.Entries, err = listEntries(ctx, out); err != nil {
		return out, err
	}
	if out.Tables, err = readTables(ctx, out); err != nil {
		return out, err
	}
	out.Rules, err = listRules(ctx)
	return out, err
}
