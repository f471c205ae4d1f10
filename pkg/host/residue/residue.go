package residue

import (
	"context"
	"net"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Reader reads the network namespace of the process.
type Reader struct {
	Live bool // false: an image, without a running kernel
	// Dial connects to a unix socket of the host.
	Dial func(ctx context.Context, path string) (net.Conn, error)
}

func (r Reader) ready(ctx context.Context) error { return sys.Ready(ctx, r.Live, "the network") }

// Writer removes what a network left.
type Writer struct {
	Reader
	// Devices returns the links that have a physical device.
	Devices func(ctx context.Context) ([]string, error)
	Log     *zap.Logger // nil: nothing is logged
}

// changed logs one operation that changed the network.
func (w Writer) changed(what string, fields ...zap.Field) {
	if w.Log != nil {
		w.Log.Debug(what, fields...)
	}
}
