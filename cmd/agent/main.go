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

	"k8s.io/klog/v2"

	"github.com/netwright/netwright/pkg/problem"
)

func main() {
	deferCollection()
	silenceClients()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once, whatever hangs
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
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
func run(ctx context.Context, args []string, s streams) int {
	f := &flags{}
	cmd := f.rootCommand(s)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(s.err, "agent: stopped; every file is as it was or as wanted. Run it again to go on.")
		return exitError
	}
	err = problem.Other.Wrap(err)
	fmt.Fprintf(s.err, "agent: %v\n", err)
	if f.checkOutput() == nil && !f.text() && !f.printed {
		if err := f.data(s, failed{failure{ID: problem.Find(err), Message: err.Error(),
			Page: problem.Find(err).Section()}}); err != nil {
			fmt.Fprintln(s.err, "agent:", err)
		}
	}
	return exitError
}
