// Command agent converges a Kubernetes node's network.
//
// # Files
//
//   - the program, its commands, and its manual pages: main, root, arguments, version, manual
//   - the agent's own flags, and the runs that they choose: run_flags, once, converge, dry_run,
//     daemon*, sandbox*
//   - what several commands share: store_destination, not_repairing, prove_pods
//   - one command each, with its flags: *
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
)

func main() {
	deferCollection()
	silenceClients()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once, whatever hangs
	code := run(ctx, os.Args[1:], cli.Output{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// deferCollection lets the heap grow to 8 MB before the first garbage collection; the default of
// the Go runtime is 4 MB. A pass without changes allocates about 4 MB and ends, and a collection
// would cost it a sixth of its processor time. After the first collection the runtime's default
// holds.
func deferCollection() {
	percent := debug.SetGCPercent(200)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
}

// silenceClients discards client-go's log lines. client-go writes them to stderr in its own form,
// and returns the same errors, which the agent logs.
func silenceClients() { klog.SetLogger(klog.Logger{}) }

// run is the program without its process, so that tests can call it.
func run(ctx context.Context, args []string, out cli.Output) cli.Exit {
	f := &cli.Flags{Output: out.Checked()}
	f.Kube.Version = version
	cmd := rootCommand(f)
	cmd.SetArgs(args)
	explain := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		f.Form = formOf(args) // cobra did not parse the flags after the wrong one
		return explain(c, err)
	})
	err := cmd.ExecuteContext(ctx)
	var code cli.Exit
	if lost := f.Lost(); lost != nil && (err == nil || errors.As(err, &code)) {
		err = lost // an exit code alone would not say that the data is incomplete
	}
	switch {
	case err == nil:
		return cli.ExitOK
	case errors.As(err, &code):
		return code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(f.Err, "agent: stopped; every file is as it was or as wanted. Run it again to go on.")
		return cli.ExitError
	}
	err = problem.KindOf(err).Wrap(err)
	fmt.Fprintf(f.Err, "agent: %v\n", err)
	if f.Check() == nil && !f.Text() && !f.Printed { // instead of the data that the calling program expects
		id := problem.Find(err)
		if err := f.Data(map[string]any{"error": map[string]any{"id": id, "message": err.Error(),
			"page": id.Section()}}); err != nil {
			fmt.Fprintln(f.Err, "agent:", err)
		}
	}
	return cli.ExitError
}

// formOf returns the value of --output from arguments that are partly wrong, so that the error is
// printed in that form.
func formOf(args []string) (form string) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.StringVarP(&form, "output", "o", cli.FormText, "")
	_ = set.Parse(args) // where parsing ends early, the flags before that count
	return form
}
