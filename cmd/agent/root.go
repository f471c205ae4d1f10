package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/pkg/statestore/https"
)

// flags are those of the command line, before the agent's own file fills in
// what they leave out.
type flags struct {
	conf, store, cluster, group, node string
	root, output                      string
	confRead                          bool
	told                              bool // data for a program was printed

	once, dryRun, sandbox, verify bool
	disruptive                    bool
	trust                         trusted
	wait, interval, confirm       time.Duration

	// What the agent's own file alone says.
	probes      []checkpoint.Probe
	probeWindow time.Duration
	storeFiles  https.Settings
	peers       inbound.Static
	kubeconfig  string
	logFormat   string // a flag of the daemon too

	metrics, nodeStatus, statusGroup, statusObject string // where the daemon tells how it is, and whom
}

func (f *flags) rootCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Converge a Kubernetes node's network",
		Long: `agent reads a node's configuration from a state store and makes the host match.

Without --once and --dry-run it is the daemon that systemd runs: it converges,
tells systemd when kubelet may start, and looks again every interval.`,
		Example: `  agent --dry-run                       by hand: what would change on this node, and why
  agent --once                          by hand: make it so, and exit
  agent --once --confirm 2m             by hand: make it so, and undo it unless confirmed
  agent --once --wait 5m                from cloud-init: also wait for what only time brings
  agent --root /mnt --once              into an image: all that needs no live kernel
  systemctl start netwright-agent       as a service: this command without flags
  agent --store examples/bridge --node node-1 --once --sandbox
                                        try it in throw-away namespaces`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return f.checkOutput()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkRun(cmd.Flags().Changed("interval")); err != nil {
				return problem.Usage.Wrap(err)
			}
			switch {
			case f.sandbox:
				return runSandbox(cmd.Context(), f, s)
			case f.dryRun:
				return runDryRun(cmd.Context(), f, s)
			case f.once:
				return runOnce(cmd.Context(), f, s)
			}
			return runDaemon(cmd.Context(), f, s)
		},
	}
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			flag := value.GetFlag()
			return problem.Usage.Errorf("--%s %q: expected %s: `%s --help` lists the flags", flag.Name, value.GetValue(), flagTakes(flag.Value.Type()), c.CommandPath())
		}
		return problem.Usage.Errorf("%w: `%s --help` lists the flags", err, c.CommandPath())
	})
	p := cmd.PersistentFlags()
	p.StringVar(&f.conf, "conf", "", "the agent's own file (default "+defaultConf+", if it exists)")
	p.StringVar(&f.store, "store", "", "state store: a directory, or a URL (s3://, https://, k8s://, file://)")
	p.StringVar(&f.cluster, "cluster", "", "cluster in the store (default: the only one)")
	p.StringVar(&f.group, "node-group", "", "node group (default: the one that the node's document names)")
	p.StringVar(&f.node, "node", "", "node name (default: the host's name)")
	p.StringVar(&f.root, "root", "/", "root of a mounted image: files only, nothing live")
	p.StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	complete(cmd, "output", outText, outJSON, outYAML)
	l := cmd.Flags()
	l.BoolVar(&f.once, "once", false, "converge once and exit: 0 right, 1 error, 3 still waiting after --wait")
	l.DurationVar(&f.wait, "wait", 0, "with --once: how long to wait for what only time brings")
	l.DurationVar(&f.confirm, "confirm", 0, "with --once: undo the change after this time, unless agent confirm keeps it")
	l.BoolVar(&f.dryRun, "dry-run", false, "show what would change and exit: 0 nothing, 2 changes, 1 error")
	l.BoolVar(&f.sandbox, "sandbox", false, "converge in throw-away namespaces, and prove there that pods can talk")
	l.BoolVar(&f.verify, "verify", false, "read every installed byte instead of believing recorded metadata")
	l.BoolVar(&f.trust.older, "accept-older-generation", false, "with --once: take a generation from the store that is older than the last")
	f.addDisruptive(cmd)
	f.addTrust(cmd)
	l.StringVar(&f.logFormat, "log-format", "", "of the daemon's log: text or json on stderr (default: the journal's own, with fields, where stderr is the journal)")
	complete(cmd, "log-format", config.LogText, config.LogJSON)
	l.DurationVar(&f.interval, "interval", 0, "time between the daemon's passes (default 10m)")
	f.addTelling(cmd)
	addVersion(cmd, s)
	cmd.AddCommand(f.commands(s)...)
	cmd.AddCommand(buildTools()...)
	refuseUnknown(cmd)
	return cmd
}

// flagTakes says what a flag of a type takes.
func flagTakes(kind string) string {
	switch kind {
	case "bool":
		return "nothing, true or false"
	case "duration":
		return "a time such as 30s, 5m or 1h"
	case "int", "int64", "uint", "uint64":
		return "a whole number"
	}
	return "a " + kind
}

// commands are all others.
func (f *flags) commands(s streams) []*cobra.Command {
	return []*cobra.Command{
		statusCommand(f, s), supportCommand(f, s), certsCommand(f, s), configCommand(f, s), factsCommand(f, s), networksCommand(f, s),
		explainCommand(f, s), verifyCommand(f, s), storeCommand(f, s), versionCommand(f, s), historyCommand(f, s), confirmCommand(f, s), rollbackCommand(f, s),
		resumeCommand(f, s), pauseCommand(f, s), waitCommand(f, s), resetCommand(f, s), undoCommand(s), provePodsCommand(), recoverCommand(f, s), installCommand(f, s),
		userDataCommand(f, s),
	}
}

// addTelling gives the daemon the flags of how it tells how it is.
func (f *flags) addTelling(cmd *cobra.Command) {
	l := cmd.Flags()
	l.StringVar(&f.metrics, "metrics", "", "where the daemon serves metrics, or off (default "+metrics.DefaultAddress+")")
	l.StringVar(&f.nodeStatus, "node-status", "", "whether the daemon tells the node's Node how it is, on or off (default on)")
	complete(cmd, "node-status", config.On, config.Off)
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
		return errors.New("--metrics and --node-status are for the daemon: --once, --dry-run and --sandbox say how it went themselves")
	case f.metrics != "" && config.ValidMetrics(f.metrics) != "":
		return fmt.Errorf("--metrics %s: expected %s", f.metrics, config.ValidMetrics(f.metrics))
	case f.nodeStatus != "" && config.ValidNodeStatus(f.nodeStatus) != "":
		return fmt.Errorf("--node-status %s: expected %s", f.nodeStatus, config.ValidNodeStatus(f.nodeStatus))
	case interval && f.interval < minInterval:
		return fmt.Errorf("--interval %s: expected %s or more, such as 10m", f.interval, minInterval)
	case f.logFormat != "" && f.logFormat != config.LogText && f.logFormat != config.LogJSON:
		return fmt.Errorf("--log-format %s: expected text or json", f.logFormat)
	case f.trust.older && !f.once && !f.dryRun:
		return errors.New("--accept-older-generation is for --once, also beside the daemon, and --dry-run: it is said once, and remembered")
	case f.sandbox && f.root != "/":
		return errors.New("--sandbox and --root exclude each other: a sandbox has a root of its own")
	case f.confirm != 0:
		return f.checkConfirm()
	}
	return nil
}

// addDisruptive gives a command the flag that lets a switch of networks happen.
func (f *flags) addDisruptive(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.disruptive, "allow-disruptive", false, "let a switch to another network happen although pods notice (spec.networking.switch.allow)")
}

// complete names the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag: a bug that every run shows
	}
}
