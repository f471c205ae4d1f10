package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/pkg/statestore/https"
)

// flags are those of the command line, before the agent's own file fills in
// what they leave out.
type flags struct {
	conf, store, cluster, group, node string
	root, output                      string
	confRead                          bool
	printed                           bool // data for a program was printed

	once, dryRun, sandbox, verify bool
	disruptive                    bool
	trust                         trusted
	wait, interval, confirm       time.Duration

	// What the agent's own file alone says.
	probes      []probe.Probe
	probeWindow time.Duration
	storeFiles  https.Settings
	peers       inbound.Static
	kubeconfig  string
	logFormat   string // a flag of the daemon too

	metrics, nodeStatus, statusGroup, statusObject string // where the daemon tells how it is, and whom
}

// addObservers gives the daemon the flags of how it tells how it is.
func (f *flags) addObservers(cmd *cobra.Command) {
	l := cmd.Flags()
	l.StringVar(&f.metrics, "metrics", "",
		"where the daemon serves metrics, or off (default "+metrics.DefaultAddress+")")
	l.StringVar(&f.nodeStatus, "node-status", "",
		"whether the daemon tells the node's Node how it is, on or off (default on)")
	complete(cmd, "node-status", agentfile.On, agentfile.Off)
}

// checkRun refuses flags of the agent itself that do not go together. interval says that --interval
// is among them, 0 too.
func (f *flags) checkRun(interval bool) error {
	switch {
	case f.dryRun && f.once:
		return errors.New("--dry-run and --once exclude each other: the first shows what the second would do")
	case f.wait != 0 && !f.once:
		return errors.New("--wait needs --once: the daemon waits by itself")
	case f.wait < 0:
		return fmt.Errorf("--wait %s: expected a time such as 5m", f.wait)
	case interval && (f.once || f.dryRun || f.sandbox):
		return errors.New("--interval is for the daemon: --once, --dry-run and --sandbox run once")
	case (f.metrics != "" || f.nodeStatus != "") && (f.once || f.dryRun || f.sandbox):
		return errors.New("--metrics and --node-status are for the daemon: --once, --dry-run and --sandbox say how it " +
			"went themselves")
	case f.metrics != "" && agentfile.ValidMetrics(f.metrics) != "":
		return fmt.Errorf("--metrics %s: expected %s", f.metrics, agentfile.ValidMetrics(f.metrics))
	case f.nodeStatus != "" && agentfile.ValidNodeStatus(f.nodeStatus) != "":
		return fmt.Errorf("--node-status %s: expected %s", f.nodeStatus, agentfile.ValidNodeStatus(f.nodeStatus))
	case interval && f.interval < minInterval:
		return fmt.Errorf("--interval %s: expected %s or more, such as 10m", f.interval, minInterval)
	case f.logFormat != "" && f.logFormat != agentfile.LogText && f.logFormat != agentfile.LogJSON:
		return fmt.Errorf("--log-format %s: expected text or json", f.logFormat)
	case f.trust.older && !f.once && !f.dryRun:
		return errors.New("--accept-older-generation is for --once, also beside the daemon, and --dry-run: it is said " +
			"once, and remembered")
	case f.sandbox && f.root != "/":
		return errors.New("--sandbox and --root exclude each other: a sandbox has a root of its own")
	case f.confirm != 0:
		return f.checkConfirm()
	}
	return nil
}

// addDisruptive gives a command the flag that lets a switch of networks happen.
func (f *flags) addDisruptive(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.disruptive, "allow-disruptive", false,
		"let a switch to another network happen although pods notice (spec.networking.switch.allow)")
}

// complete names the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag: a bug that every run shows
	}
}
