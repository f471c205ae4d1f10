package host

import (
	"context"
	"net"

	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/residue"
)

// Residue returns the reader of what a network left on the host. Only cleanup uses it.
func (l *Live) Residue() residue.Reader {
	return residue.Reader{Live: l.opt.live(), Dial: func(ctx context.Context, path string) (net.Conn, error) {
		conn, err := ipc.Dial(ctx, l.opt.Files(), path)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}}
}

// ResidueWriter returns the writer that removes what a network left.
func (h *Host) ResidueWriter() residue.Writer {
	return residue.Writer{Reader: h.Live.Residue(), Log: h.Live.opt.Log,
		Devices: func(ctx context.Context) (names []string, err error) {
			links, err := h.Live.Net.Links(ctx)
			for _, l := range links {
				if l.Physical {
					names = append(names, l.Name)
				}
			}
			return names, err
		}}
}
