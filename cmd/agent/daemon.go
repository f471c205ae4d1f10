package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/daemon"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/service"
)

// watchVariable is an environment variable. With the value "off" the daemon does not watch the host
// and looks at it only at intervals.
const watchVariable = "NETWRIGHT_WATCH"

func (o *runOptions) runDaemon(ctx context.Context) (err error) {
	cli.OutlivePipe()
	if err := errors.Join(cli.RefuseOtherNetwork(o.f.Host), o.f.Read()); err != nil {
		return err
	}
	log := cli.Logger(o.f.Err, o.f.LogFormat, zapcore.InfoLevel)
	if o.f.Store == "" && os.Getenv("NOTIFY_SOCKET") != "" {
		return o.nothingToDo(log)
	}
	w, err := o.open(log)
	if err != nil {
		return err
	}
	unlock, err := ipc.Lock(ctx, w.Pass.Host.Files(), control.Lock,
		func(who ipc.LockOwner) { log.Warn("waiting for another daemon to end", zap.Stringer("daemon", who)) })
	if err != nil {
		return fmt.Errorf("take the daemon's lock: %w", err)
	}
	defer unlock() // the last deferred call: until then no other process may replace the socket
	d := daemon.Daemon{
		Pass: w.Pass, Store: w.Store, Select: w.Select, Interval: cmp.Or(o.f.Interval, agentfile.DefaultInterval),
		Manager: publish.Systemd{}, Target: w.Target, Version: version,
	}
	if os.Getenv(watchVariable) != "off" {
		d.Watcher = watch.New(watch.Options{Root: w.Pass.Host.Root, Sandbox: w.Pass.Host.Sandbox})
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	d.Reload = reload
	defer o.observe(ctx, &d, w)()
	if d.Control, err = control.Listen(w.Pass.Host, version, log); err != nil {
		log.Warn("commands cannot reach the daemon: they wait for its passes, and make their own", zap.Error(err))
		return d.Run(ctx)
	}
	serving, stop := context.WithCancelCause(ctx)
	served := make(chan error, 1)
	go func() { served <- d.Control.Serve(serving) }()
	defer func() {
		stop(errors.New("the daemon stops"))
		if gone := <-served; gone != nil {
			err = errors.Join(err, fmt.Errorf("remove the socket: %w", gone))
		}
	}()
	return d.Run(ctx)
}

// nothingToDo ends the service on a host without a configured store, which is the state after a
// package is installed. It reports no error: a unit that fails would make each boot "degraded" and
// would be restarted for ever. READY=1 is sent because nothing needs to wait. The line on stdout is
// for the console, where kubelet starts without the agent's work.
func (o *runOptions) nothingToDo(log *zap.Logger) error {
	const why = "nothing to do: no state store is named: write `store:` into " + defaultConf +
		", then: systemctl start " + service.Unit
	log.Warn(why)
	fmt.Fprintln(o.f.Out, "netwright: "+why)
	return publish.Systemd{}.Ready(why)
}
