package main

import (
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/daemon"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/publish"
)

// observers begins to tell how the node is: on the status socket, in the status file, and until the
// node is prepared on the console. What of it cannot be is a warning: a node is kept right whether
// or not anybody can see it. end waits until all was told that there is to tell; it is called while
// the daemon's lock is held.
func (f *flags) observers(
	ctx context.Context, opt host.Options, s streams, log *zap.Logger,
) (list []daemon.Observer, end func()) {
	telling, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // the daemon's last word is to be told too
	var all sync.WaitGroup
	before, err := publish.ReadStatusFile(opt)
	file := &publish.File{Host: opt, GID: publish.Readers(opt, f.statusGroup, log), Log: log}
	all.Go(func() { file.Run(telling) })
	list = append(list, file)

	if err != nil || !before.Prepared {
		console := &publish.Console{Out: s.out}
		all.Go(func() { console.Run(telling) })
		list = append(list, console)
	}
	if feed, err := publish.ListenFeed(opt, file.GID, version, log); err != nil {
		log.Warn("the status cannot be read from the daemon: it is in "+publish.StatusFile, zap.Error(err))
	} else {
		all.Go(func() {
			if err := feed.Serve(telling); err != nil {
				log.Warn("the status socket was not taken away", zap.Error(err))
			}
		})
		list = append(list, feed)
	}
	return list, func() {
		stop(errors.New("the daemon stops"))
		all.Wait()
	}
}
