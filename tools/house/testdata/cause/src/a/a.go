package a

import (
	"context"
	"errors"
	"time"
)

func bad(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx) // want `context.WithCancel without a cause: use context.WithCancelCause`
	defer cancel()
	_, cancel = context.WithTimeout(ctx, time.Second) // want `context.WithTimeout without a cause`
	cancel()
}

func good(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("done"))
	_ = context.WithoutCancel(ctx)
}
