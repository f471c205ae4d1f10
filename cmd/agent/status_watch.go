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

// watchPause is the time between two attempts to reach a daemon that does not run.
const watchPause = time.Second

// watch prints the status and then each change until ctx ends. It goes on when one daemon ends and
// another one starts. An interrupt by the user is no error.
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
				continue // unchanged
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

// leave closes a feed. Its error does not matter: the client has sent nothing.
func leave(feed *publish.Reading) {
	if feed != nil {
		_ = feed.Close()
	}
}

// stopped returns the error that ended a watch; nil where the user interrupted it.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// showChange prints a status: as text the table first and then one line for each change; as JSON or
// YAML a whole document each time.
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
