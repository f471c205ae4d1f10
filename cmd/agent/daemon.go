package main

import (
	"context"

	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/agent"
	"github.com/netwright/netwright/pkg/publish"
)

func runDaemon(ctx context.Context, f *flags, s streams) error {
	w, err := f.wire(logger(s, zapcore.InfoLevel))
	if err != nil {
		return err
	}
	return agent.Daemon{
		Pass: w.pass, Store: w.store, Select: w.sel, Interval: w.interval, Manager: publish.Systemd{},
	}.Run(ctx)
}
