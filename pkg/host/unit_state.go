package host

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// LookAtUnit returns the state of one unit, for callers that read nothing else of the host. It
// returns [ErrNoLiveState] where no systemd runs or may be asked. It starts nothing.
func LookAtUnit(ctx context.Context, opt Options, name string) (state systemd.UnitState, err error) {
	u := systemd.Open(opt.live() && !opt.Sandbox)
	defer func() { err = errors.Join(err, u.Close()) }()
	return u.Unit(ctx, name)
}
