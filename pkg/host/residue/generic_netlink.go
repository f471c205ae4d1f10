package residue

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// genl sends a request to a generic netlink family, and returns the answers without their headers.
// The caller must know that the family's module is loaded: for an unknown family the kernel tries
// to load one (net/netlink/genetlink.c, request_module).
func genl(
	ctx context.Context, family string, version, command uint8, flags int, data ...nl.NetlinkRequestData,
) ([][]byte, error) {
	f, err := netlink.GenlFamilyGet(family)
	if errors.Is(err, unix.ENOENT) {
		return nil, problem.Missing("the kernel has no netlink family %s", family)
	}
	if err != nil {
		return nil, fmt.Errorf("find netlink family %s: %w", family, err)
	}
	ask := func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(int(f.ID), flags)
		req.AddData(&nl.Genlmsg{Command: command, Version: version})
		for _, d := range data {
			req.AddData(d)
		}
		return req.Execute(unix.NETLINK_GENERIC, 0)
	}
	var out [][]byte
	if flags&unix.NLM_F_DUMP == unix.NLM_F_DUMP {
		out, err = sys.Dump(ctx, family, ask)
	} else {
		out, err = ask()
	}
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
	}
	for i := range out {
		if len(out[i]) < nl.SizeofGenlmsg {
			return nil, fmt.Errorf("netlink family %s: an answer of %d bytes", family, len(out[i]))
		}
		out[i] = out[i][nl.SizeofGenlmsg:]
	}
	return out, err
}
