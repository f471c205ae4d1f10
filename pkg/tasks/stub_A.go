package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

var errUnbuiltA = errors.New("kind not built yet")

func (t TOMLKey) Owns() []graph.Key                                { return nil }
func (t TOMLKey) Plan(context.Context, host.View) (*Change, error) { return nil, errUnbuiltA }
func (t TOMLKey) Apply(context.Context, *host.Host, *Change) error { return errUnbuiltA }

var _ Task = TOMLKey{}
