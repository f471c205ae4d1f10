package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
)

func statusCommand(f *cli.Flags) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how this node is: what is wrong, what waits, what to do",
		Long: `status asks the daemon for the state of the node. If no daemon runs, it reads the state
that the last one wrote, and says how old that is, why no daemon runs, and what to do.

Exit code: 0 all is right, 2 somebody must look (a key fails, is contested, or is only
reported; a certificate has expired), 3 something is awaited or the node is held back,
4 no daemon runs, 1 error.`,
		Example: `  agent status
  agent status -o json | jq .state
  agent status --watch          a line for each change, until it is interrupted
  agent status --watch -o json  a document on one line for each`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st := statusReader{f}
			if watch {
				return st.watch(cmd.Context())
			}
			view, feed, err := st.look(cmd.Context())
			if err != nil {
				return err
			}
			leave(feed)
			if err := st.show(view); err != nil {
				return err
			}
			return statusExit(view)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and print each change")
	return cmd
}

// statusExit returns the exit code for the verdict of a status.
func statusExit(v report.StatusView) error {
	switch v.Verdict() {
	case report.Right:
		return nil
	case report.Wrong:
		return cli.ExitChanges
	case report.Awaited:
		return cli.ExitWaiting
	}
	return cli.ExitNotRunning
}

// judged is the JSON form of a status. Its state is the daemon's, even where the daemon is dead;
// the verdict is what the exit code says.
type judged struct {
	report.StatusView
	Verdict report.Verdict `json:"verdict"`
}

func judgedStatus(v report.StatusView) judged { return judged{v, v.Verdict()} }

// statusReader reads and prints the node's status.
type statusReader struct{ *cli.Flags }

// look asks the daemon for the status, or reads the status file of the last daemon where none
// answers. feed is not nil where a daemon answers: the caller closes it.
func (st statusReader) look(ctx context.Context) (view report.StatusView, feed *publish.FeedReader, err error) {
	feed, err = publish.ReadFeed(ctx, st.Host, version)
	if err == nil {
		var news publish.News
		if news, err = feed.Next(ctx); err == nil {
			return report.StatusView{Status: news.Status,
				Daemon: report.Daemon{Running: true, From: "socket", Off: service.Off(st.Host)}}, feed, nil
		}
		err = errors.Join(err, feed.Close())
	}
	switch {
	case errors.Is(err, publish.ErrNotYours):
		return view, nil, st.refused()
	case !errors.Is(err, publish.ErrNoDaemon) && !errors.Is(err, publish.ErrEnded):
		return view, nil, err
	}
	told := st.Read() != nil || st.Store != "" // if the file is wrong, the journal has the error
	view.Daemon = service.WhyDown(ctx, st.Host, told)
	view.Status, err = publish.ReadStatusFile(st.Host)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission):
		return view, nil, st.refused()
	case err != nil:
		return view, nil, err
	default:
		view.Daemon.From, view.Awaits = publish.StatusFile, st.Local().Session().Awaits()
	}
	return view, nil, nil
}

// refused returns the error for a user who may not read the status. It says what to do.
func (st statusReader) refused() error {
	who := "root alone: run it as root (sudo agent status), or let a group read it (statusGroup: NAME in " +
		defaultConf + ", then systemctl restart netwright-agent)"
	if group := publish.ReadBy(st.Host); group != "" {
		who = fmt.Sprintf("root and the group %s: run it as root (sudo agent status), or become a member (usermod -aG "+
			"%s YOU, then log in again)", group, group)
	}
	return fmt.Errorf("the status of this node is for %s", who)
}

// show prints a status in the form that --output names.
func (st statusReader) show(v report.StatusView) error {
	if !st.Text() {
		return st.Data(judgedStatus(v))
	}
	return report.StatusText(st.Out, v, st.options())
}

func (st statusReader) options() report.StatusOptions {
	return report.StatusOptions{Color: cli.IsTerminal(st.Out), Width: cli.Width(st.Out), Now: time.Now()}
}
