package host

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// LookAtUnit is the state of one unit, for who looks at nothing else of the machine.
// [ErrNoLiveState]: no systemd runs here that may be talked to. It starts nobody.
func LookAtUnit(ctx context.Context, opt Options, name string) (state systemd.UnitState, err error) {
	u := systemd.Open(opt.live() && !opt.Sandbox)
	defer func() { err = errors.Join(err, u.Close()) }()
	return u.Unit(ctx, name)
}
