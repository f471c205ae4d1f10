package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

var errUnbuiltB = errors.New("kind not built yet")

func (t Sysctl) Owns() []graph.Key                                { return nil }
func (t Sysctl) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t Sysctl) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = Sysctl{}

func (t Module) Owns() []graph.Key                                { return nil }
func (t Module) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t Module) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = Module{}

func (t Mount) Owns() []graph.Key                                { return nil }
func (t Mount) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t Mount) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = Mount{}

func (t Unit) Owns() []graph.Key                                { return nil }
func (t Unit) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t Unit) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = Unit{}

func (t DropIn) Owns() []graph.Key                                { return nil }
func (t DropIn) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t DropIn) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = DropIn{}

func (t UnitState) Owns() []graph.Key                                { return nil }
func (t UnitState) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t UnitState) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = UnitState{}

func (t Effect) Owns() []graph.Key                                { return nil }
func (t Effect) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltB }
func (t Effect) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltB }

var _ Task = Effect{}
