package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/pkg/reconcile"
)

const defaultConf = agentfile.Path

// runOptions are the flags of the agent itself, which makes passes: as the daemon, or with --once,
// --dry-run or --sandbox.
type runOptions struct {
	f                     *cli.Flags
	once, dryRun, sandbox bool
	disruptive            bool
	wait, confirm         time.Duration
	out                   string // the path of the plan file; "": none
}

func (o *runOptions) bind(cmd *cobra.Command) {
	l := cmd.Flags()
	l.BoolVar(&o.once, "once", false, "converge once and exit: 0 right, 1 error, 3 still waiting after --wait")
	l.DurationVar(&o.wait, "wait", 0, "with --once: how long to wait for what only time brings")
	l.DurationVar(&o.confirm, "confirm", 0,
		"with --once: undo the change after this time, unless agent confirm keeps it")
	l.BoolVar(&o.dryRun, "dry-run", false, "show what would change and exit: 0 nothing, 2 changes, 1 error")
	l.BoolVar(&o.sandbox, "sandbox", false, "converge in temporary namespaces, and prove there that pods reach each other")
	o.bindPlan(cmd)
	l.StringVar(&o.f.LogFormat, "log-format", "",
		"of the daemon's log: text or json on stderr (default: the journal's own, with fields, where stderr is the journal)")
	complete(cmd, "log-format", agentfile.LogText, agentfile.LogJSON)
	l.DurationVar(&o.f.Interval, "interval", 0, "time between two looks at the store (default 10m)")
	l.StringVar(&o.f.Metrics, "metrics", "",
		"where the daemon serves metrics, or off (default "+metrics.DefaultAddress+")")
	l.StringVar(&o.f.NodeStatus, "node-status", "",
		"whether the daemon reports its state to the node's Node object, on or off (default on)")
	complete(cmd, "node-status", agentfile.On, agentfile.Off)
}

// bindPlan adds the flags that a plan depends on.
func (o *runOptions) bindPlan(cmd *cobra.Command) {
	l := cmd.Flags()
	l.BoolVar(&o.f.Host.Verify, "verify", false, "read every installed byte instead of trusting recorded metadata")
	l.BoolVar(&o.f.Trust.Older, "accept-older-generation", false,
		"accept, this time only, a generation from the store that is older than the last")
	addDisruptive(cmd, &o.disruptive)
}

// check refuses flags that exclude each other. interval reports that --interval was given, also
// with 0.
func (o *runOptions) check(interval bool) error {
	ends := o.once || o.dryRun || o.sandbox
	switch {
	case o.dryRun && o.once:
		return errors.New("--dry-run and --once exclude each other: the first shows what the second would do")
	case o.wait != 0 && !o.once:
		return errors.New("--wait needs --once: the daemon waits by itself")
	case o.wait < 0:
		return fmt.Errorf("--wait %s: expected a time such as 5m", o.wait)
	case interval && ends:
		return errors.New("--interval is for the daemon: --once, --dry-run and --sandbox run once")
	case (o.f.Metrics != "" || o.f.NodeStatus != "") && ends:
		return errors.New("--metrics and --node-status are for the daemon: --once, --dry-run and --sandbox say how it " +
			"went themselves")
	case o.f.Metrics != "" && agentfile.ValidMetrics(o.f.Metrics) != "":
		return fmt.Errorf("--metrics %s: expected %s", o.f.Metrics, agentfile.ValidMetrics(o.f.Metrics))
	case o.f.NodeStatus != "" && agentfile.ValidNodeStatus(o.f.NodeStatus) != "":
		return fmt.Errorf("--node-status %s: expected %s", o.f.NodeStatus, agentfile.ValidNodeStatus(o.f.NodeStatus))
	case interval && o.f.Interval < agentfile.MinInterval:
		return fmt.Errorf("--interval %s: expected %s or more, such as 10m", o.f.Interval, agentfile.MinInterval)
	case o.f.LogFormat != "" && o.f.LogFormat != agentfile.LogText && o.f.LogFormat != agentfile.LogJSON:
		return fmt.Errorf("--log-format %s: expected text or json", o.f.LogFormat)
	case o.f.Trust.Older && !o.once && !o.dryRun:
		return errors.New("--accept-older-generation is for --once, also beside the daemon, and --dry-run: it is said " +
			"once, and remembered")
	case o.sandbox && o.f.Host.Root != "/":
		return errors.New("--sandbox and --root exclude each other: a sandbox has a root of its own")
	case o.confirm == 0:
		return nil
	case !o.once:
		return errors.New("--confirm needs --once: a change by hand is what a person confirms")
	case o.wait != 0:
		return errors.New("--confirm and --wait exclude each other: nothing more is done " +
			"until the change is confirmed; then run --once --wait")
	case o.f.Host.Root != "/" || o.sandbox:
		return errors.New("--confirm is for a host that runs: an image or a sandbox cuts nobody off")
	case o.confirm < reconcile.MinConfirm || o.confirm > reconcile.MaxConfirm:
		return fmt.Errorf("--confirm %s: expected from %s to %s, such as 2m",
			o.confirm, reconcile.MinConfirm, reconcile.MaxConfirm)
	}
	return nil
}

// open opens the store for passes. A dry run starts no program to get credentials. A sandbox
// accepts an unsigned store, because it cannot change this host.
func (o *runOptions) open(log *zap.Logger) (*cli.Opened, error) {
	o.f.Kube.OnlyFiles, o.f.Trust.Unsigned = o.dryRun, o.f.Trust.Unsigned || o.sandbox
	w, err := o.f.Open(log)
	if err == nil {
		w.Pass.AllowDisruptive, w.Pass.ConfirmWithin = o.disruptive, o.confirm
	}
	return w, err
}

// addDisruptive adds the flag that allows a disruptive switch of networks.
func addDisruptive(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "allow-disruptive", false,
		"allow a switch to another network, although it interrupts pods (spec.networking.switch.allow)")
}

// addTrust adds the flag that allows an unsigned store to all commands.
func addTrust(cmd *cobra.Command, f *cli.Flags) {
	cmd.PersistentFlags().BoolVar(&f.Trust.Unsigned, "insecure-unsigned", false,
		"take a configuration that is neither pinned nor signed (insecureUnsigned in the agent's file)")
}

// complete registers the values of a flag for shell completion.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a bug that every run shows
	}
}
