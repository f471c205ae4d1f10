package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// waiter has the flags of wait.
type waiter struct {
	generation int64 // 0: any
	timeout    time.Duration
}

func waitCommand(f *cli.Flags) *cobra.Command {
	var w waiter
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until a generation is applied on this node and all is right",
		Long: `wait returns when this node has applied the generation, or a newer one, and all is right:
nothing fails, waits, or is held back. Without --generation it waits until all is right.
It goes on if the daemon restarts.

Exit code: 0 all is right, 3 not within the timeout, 4 no daemon ran then, 1 error.`,
		Example: `  agent wait --generation 12 --timeout 10m`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("generation") && w.generation < 1:
				return problem.Usage.Errorf("--generation %d: expected a number from 1, as `agent store publish` "+
					"prints it", w.generation)
			case w.timeout <= 0:
				return problem.Usage.Errorf("--timeout %s: expected a time such as 10m", w.timeout)
			}
			return w.wait(cmd.Context(), statusReader{f})
		},
	}
	cmd.Flags().Int64Var(&w.generation, "generation", 0, "wait for this generation, or a newer one")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "wait at most this long")
	return cmd
}

// errTimeout says that --timeout is over.
var errTimeout = errors.New("the time to wait is over")

// wait reads the status, from daemon to daemon, until the node has reached it.
func (w *waiter) wait(ctx context.Context, st statusReader) error {
	ctx, stop := context.WithTimeoutCause(ctx, w.timeout, errTimeout)
	defer stop()
	var view report.StatusView
	err := st.follow(ctx, func(now report.StatusView, _ publish.News) (bool, error) {
		view = now
		return !w.reached(view), nil
	})
	switch {
	case err != nil && ctx.Err() == nil:
		return err
	case w.reached(view):
		fmt.Fprintln(st.Out, view.Line())
		return nil
	case !errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	}
	return w.late(st.Err, view)
}

// reached reports whether the node has the generation and everything on it is right. A daemon of an
// earlier release reports neither the applied nor the wanted configuration. If everything is right,
// both are the same.
func (w *waiter) reached(v report.StatusView) bool {
	if v.Verdict() != report.Right {
		return false
	}
	c := v.Configuration
	return c.Applied.Is(c.Wanted) && c.Generation >= w.generation
}

// late prints what is missing after the timeout, and returns the exit code.
func (w *waiter) late(to io.Writer, v report.StatusView) error {
	if !v.Daemon.Running || v.Status == nil {
		fmt.Fprintf(to, "agent: not within %s: no daemon runs here: %s\n", w.timeout, v.Daemon.Why)
		return cli.ExitNotRunning
	}
	what := "it is not right yet"
	if v.Configuration.Generation < w.generation {
		what = fmt.Sprintf("generation %d is not applied", w.generation)
	}
	fmt.Fprintf(to, "agent: not within %s: %s: %s\n", w.timeout, what, v.Line())
	return cli.ExitWaiting
}
