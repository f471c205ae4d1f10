package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// watchPause is the time between two attempts to reach a daemon that does not run.
const watchPause = time.Second

// watch prints the status of the node and then each change until ctx ends. An interrupt by the
// user is no error.
func (st statusReader) watch(ctx context.Context) error {
	var before *report.Status
	err := st.follow(ctx, func(now report.StatusView, news publish.News) (bool, error) {
		err := st.showChange(before, now, news)
		before = now.Status
		return true, err
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follow calls a function with the node's status and with each change of it, until ctx ends or the
// function wants no more. It goes on when one daemon ends and another one starts.
func (st statusReader) follow(
	ctx context.Context, hear func(report.StatusView, publish.News) (more bool, err error),
) error {
	view, feed, err := st.look(ctx)
	if err != nil {
		return err
	}
	defer func() { leave(feed) }()
	var news publish.News
	for {
		if more, err := hear(view, news); !more || err != nil {
			return err
		}
		if feed != nil {
			if news, err = feed.Next(ctx); err == nil {
				view.Status = news.Status
				continue
			}
			leave(feed)
			if feed = nil; !errors.Is(err, publish.ErrEnded) {
				return err
			}
			view.Daemon = report.Daemon{Why: err.Error()}
			continue
		}
		for was := view.Daemon.Why; feed == nil && view.Daemon.Why == was; {
			if !host.Sleep(ctx, watchPause) {
				return nil
			}
			if view, feed, err = st.look(ctx); err != nil {
				return err
			}
		}
	}
}

// leave closes a feed. Its error does not matter: the client has sent nothing.
func leave(feed *publish.FeedReader) {
	if feed != nil {
		_ = feed.Close()
	}
}

// showChange prints a status: as text the table first and then one line for each change; as JSON
// or YAML a whole document each time.
func (st statusReader) showChange(before *report.Status, now report.StatusView, news publish.News) error {
	st.Printed = true
	switch {
	case st.Form == cli.FormJSON:
		return report.JSONLine(st.Out, judgedStatus(now))
	case st.Form == cli.FormYAML:
		fmt.Fprintln(st.Out, "---")
		return report.YAML(st.Out, judgedStatus(now))
	case before == nil:
		return report.StatusText(st.Out, now, st.options())
	case !now.Daemon.Running:
		fmt.Fprintf(st.Out, "%s no daemon: %s\n", report.Stamp(time.Now()), now.Daemon.Why)
		return nil
	}
	return report.StatusChange(st.Out, before, now.Status, news.Events, news.Missed, st.options())
}
