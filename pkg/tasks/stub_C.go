package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

var errUnbuiltC = errors.New("kind not built yet")

func (t Link) Owns() []graph.Key                                { return nil }
func (t Link) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltC }
func (t Link) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltC }

var _ Task = Link{}

func (t Address) Owns() []graph.Key                                { return nil }
func (t Address) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltC }
func (t Address) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltC }

var _ Task = Address{}

func (t Route) Owns() []graph.Key                                { return nil }
func (t Route) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltC }
func (t Route) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltC }

var _ Task = Route{}

func (t Rule) Owns() []graph.Key                                { return nil }
func (t Rule) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltC }
func (t Rule) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltC }

var _ Task = Rule{}

func (t Table) Owns() []graph.Key                                { return nil }
func (t Table) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltC }
func (t Table) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltC }

var _ Task = Table{}
