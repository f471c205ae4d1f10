package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/problem"
)

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
			return problem.Usage.Errorf("--%s %q: expected %s: `%s --help` lists the flags", flag.Name,
				value.GetValue(), flagTakes(flag.Value.Type()), c.CommandPath())
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
	l.StringVar(&f.logFormat, "log-format", "",
		"of the daemon's log: text or json on stderr (default: the journal's own, with fields, where stderr is the journal)")
	complete(cmd, "log-format", agentfile.LogText, agentfile.LogJSON)
	l.DurationVar(&f.interval, "interval", 0, "time between the daemon's passes (default 10m)")
	f.addObservers(cmd)
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
		statusCommand(f, s), supportCommand(f, s), certsCommand(f, s), configCommand(f, s), factsCommand(f, s),
		networksCommand(f, s),
		explainCommand(f, s), diffCommand(f, s), verifyCommand(f, s), storeCommand(f, s), versionCommand(f, s), historyCommand(f, s),
		confirmCommand(f, s), rollbackCommand(f, s),
		resumeCommand(f, s), pauseCommand(f, s), waitCommand(f, s), resetCommand(f, s), undoCommand(s),
		provePodsCommand(), recoverCommand(f, s), installCommand(f, s),
		userDataCommand(f, s),
	}
}
