package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// watchPause is how often a daemon is looked for that does not run.
const watchPause = time.Second

// watch tells how the node is and then each change, from daemon to daemon, until ctx ends: to be
// interrupted is no error.
func (st statusReader) watch(ctx context.Context) error {
	view, feed, err := st.look(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	if err := st.showChange(nil, view, publish.News{}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if feed == nil {
			if !host.Sleep(ctx, watchPause) {
				break
			}
			next, found, err := st.look(ctx)
			switch {
			case err != nil:
				return stopped(ctx, err)
			case found == nil && next.Daemon.Why == view.Daemon.Why:
				continue // nothing new
			}
			if err := st.showChange(view.Status, next, publish.News{}); err != nil {
				leave(found)
				return err
			}
			view, feed = next, found
			continue
		}
		news, err := feed.Next(ctx)
		if err != nil {
			leave(feed)
			if feed = nil; !errors.Is(err, publish.ErrEnded) {
				return stopped(ctx, err)
			}
			view.Daemon = report.Daemon{Why: err.Error()}
			if err := st.showChange(view.Status, view, publish.News{}); err != nil {
				return err
			}
			continue
		}
		before := view.Status
		view.Status = news.Status
		if err := st.showChange(before, view, news); err != nil {
			leave(feed)
			return err
		}
	}
	leave(feed)
	return nil
}

// leave ends a reading. Nothing was said to the daemon that could be lost.
func leave(feed *publish.Reading) {
	if feed != nil {
		_ = feed.Close()
	}
}

// stopped is the end of a watch: the person's own is none.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// showChange shows a view: to a person the table first and then lines, to a program a document each
// time.
func (st statusReader) showChange(before *report.Status, now report.StatusView, news publish.News) error {
	st.Printed = true
	switch {
	case st.Form == cli.FormJSON:
		enc := json.NewEncoder(st.Out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(judgedStatus(now)); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		return nil
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
