package a

import "context"

type bad struct {
	ctx context.Context // want `context.Context in a struct`
}

type embedded struct {
	context.Context // want `context.Context in a struct`
}

var anonymous struct{ c context.Context } // want `context.Context in a struct`

type good struct {
	run    func(context.Context) error
	cancel context.CancelCauseFunc
}

type iface interface{ Run(ctx context.Context) }
