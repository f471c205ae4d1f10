package main

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/daemon"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/pkg/publish/nodestatus"
)

// observe adds the observers of the daemon: metrics, the Node's condition, the peers, the status
// object, the status file and its socket, and the console until the node is prepared. An observer
// that cannot start is only a warning: the agent keeps the node right even if nothing can show it.
// end waits until the observers have published everything; the caller calls it while it holds the
// daemon's lock.
func (o *runOptions) observe(ctx context.Context, d *daemon.Daemon, w *cli.Opened) (end func()) {
	// the observers still publish that the daemon ends
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	log, opt := d.Pass.Log, d.Pass.Host
	add := func(told interface {
		daemon.Observer
		Run(ctx context.Context)
	}) {
		d.Observers = append(d.Observers, told)
		running.Go(func() { told.Run(ctx) })
	}
	if address := cmp.Or(o.f.Metrics, metrics.DefaultAddress); address != agentfile.Off {
		m := metrics.New(version, w.Meter.Counts)
		d.Observers = append(d.Observers, m)
		s := &metrics.Server{Metrics: m, Address: address, Log: log}
		running.Go(func() { s.Run(ctx) })
	}
	if opt.Root == "/" {
		if o.f.NodeStatus != agentfile.Off {
			add(&nodestatus.Node{As: asItself(d.Pass.API), NodeName: d.Pass.API.NodeName, Log: log})
		}
		add(&inbound.Peer{API: d.Pass.API.Peers(), Busy: d.Pass.Session().MidChange, Log: log})
		if len(o.f.Peers.Answer) > 0 {
			r := &inbound.Responder{Static: inbound.Static(o.f.Peers), Busy: d.Pass.Session().MidChange, Log: log}
			running.Go(func() { r.Run(ctx) })
		}
	}
	if put, err := o.statusWriter(w); err != nil {
		log.Warn("no status object is written", zap.Error(err))
	} else if put != nil {
		add(&publish.Object{Put: put, Log: log})
	}
	before, err := publish.ReadStatusFile(opt)
	file := &publish.File{Host: opt, GID: publish.Readers(opt, o.f.StatusGroup, log), Log: log}
	add(file)
	if err != nil || !before.Prepared {
		add(&publish.Console{Out: o.f.Out})
	}
	if feed, err := publish.ListenFeed(opt, file.GID, version, log); err != nil {
		log.Warn("the status cannot be read from the daemon: it is in "+publish.StatusFile, zap.Error(err))
	} else {
		d.Observers = append(d.Observers, feed)
		running.Go(func() {
			if err := feed.Serve(ctx); err != nil {
				log.Warn("the status socket was not taken away", zap.Error(err))
			}
		})
	}
	return func() {
		stop(errors.New("the daemon stops"))
		running.Wait()
	}
}

// asItself returns a client of the Kubernetes API with the identity of the node's own Node.
func asItself(api *access.API) nodestatus.As {
	return func(ctx context.Context, do func(context.Context, nodestatus.Client) error) error {
		return api.Own(ctx, func(c *kube.Client) error { return do(ctx, c) })
	}
}
