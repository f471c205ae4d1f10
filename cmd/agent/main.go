// Command agent converges a Kubernetes node's network.
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
	context.AfterFunc(ctx, stop) // a second signal ends it at once, whatever hangs
	code := run(ctx, os.Args[1:], cli.Output{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// deferCollection lets the heap grow to 8 MB before it is collected for the first time; the runtime
// begins at 4. A pass that has nothing to do allocates about 4 MB and ends. A collection would cost
// it a sixth of its processor time. After the first collection the runtime's own measure holds.
func deferCollection() {
	percent := debug.SetGCPercent(200)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
}

// silenceClients drops client-go's own lines, which it writes to stderr whatever the form of the
// log is: what it cannot do it also returns, and the agent says it.
func silenceClients() { klog.SetLogger(klog.Logger{}) }

// run is the whole program without its process: tests call it.
func run(ctx context.Context, args []string, out cli.Output) cli.Exit {
	f := &cli.Flags{Output: out.Checked()}
	f.Kube.Version = version
	cmd := rootCommand(f)
	cmd.SetArgs(args)
	explain := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		f.Form = formOf(args) // nothing behind the wrong flag was read
		return explain(c, err)
	})
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		err = f.Lost()
	}
	var code cli.Exit
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
	if f.Check() == nil && !f.Text() && !f.Printed { // in place of the data that a program waits for
		id := problem.Find(err)
		if err := f.Data(map[string]any{"error": map[string]any{"id": id, "message": err.Error(),
			"page": id.Section()}}); err != nil {
			fmt.Fprintln(f.Err, "agent:", err)
		}
	}
	return cli.ExitError
}

// formOf is what --output says among arguments of which some are wrong: the error is printed in
// that form, too.
func formOf(args []string) (form string) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.StringVarP(&form, "output", "o", cli.FormText, "")
	_ = set.Parse(args) // where it ends early, what came before counts
	return form
}
