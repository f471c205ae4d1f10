package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
)

func rootCommand(f *cli.Flags) *cobra.Command {
	o := runOptions{f: f}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Converge a Kubernetes node's network",
		Long: `agent reads a node's configuration from a state store and makes the host match it.

Without --once and --dry-run it is the daemon that systemd runs. The daemon converges the
node, tells systemd when kubelet may start, and looks again at each interval.`,
		Example: `  agent --dry-run                       by hand: what would change on this node, and why
  agent --once                          by hand: make these changes, and exit
  agent --once --confirm 2m             by hand: make them, and undo them unless confirmed
  agent --once --wait 5m                from cloud-init: also wait for what only time brings
  agent --root /mnt --once              in an image: all that needs no running kernel
  systemctl start netwright-agent       as a service: this command without flags
  agent --store examples/bridge --node node-1 --once --sandbox
                                        try it in temporary namespaces`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return f.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags().Changed("interval")); err != nil {
				return problem.Usage.Wrap(err)
			}
			run := o.runDaemon
			switch {
			case o.sandbox:
				run = o.runSandbox
			case o.dryRun:
				run = o.runDryRun
			case o.once:
				run = o.runOnce
			}
			return run(cmd.Context())
		},
	}
	cmd.SetIn(f.In)
	cmd.SetOut(f.Out)
	cmd.SetErr(f.Err)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			flag := value.GetFlag()
			return problem.Usage.Errorf("--%s %q: expected %s: `%s --help` lists the flags", flag.Name,
				value.GetValue(), flagTakes(flag.Value.Type()), c.CommandPath())
		}
		return problem.Usage.Errorf("%w: `%s --help` lists the flags", err, c.CommandPath())
	})
	p := cmd.PersistentFlags()
	p.StringVar(&f.Conf, "conf", "", "the agent's own file (default "+defaultConf+", if it exists)")
	p.StringVar(&f.Store, "store", "", "state store: a directory, or a URL (s3://, https://, k8s://, file://)")
	p.StringVar(&f.Cluster, "cluster", "", "cluster in the store (default: the only one)")
	p.StringVar(&f.NodeGroup, "node-group", "", "node group (default: the one that the node's document names)")
	p.StringVar(&f.Node, "node", "", "node name (default: the host's name)")
	p.StringVar(&f.Host.Root, "root", "/", "root of a mounted image: files only, nothing live")
	p.StringVarP(&f.Form, "output", "o", cli.FormText, "text, json or yaml")
	complete(cmd, "output", cli.FormText, cli.FormJSON, cli.FormYAML)
	addTrust(cmd, f)
	o.bind(cmd)
	addVersion(cmd, f)
	cmd.AddCommand(
		planCommand(f), applyCommand(f), statusCommand(f), supportCommand(f), certsCommand(f), configCommand(f),
		factsCommand(f), networksCommand(f), explainCommand(f), diffCommand(f), verifyCommand(f), storeCommand(f),
		versionCommand(f), historyCommand(f), confirmCommand(f), rollbackCommand(f), resumeCommand(f), pauseCommand(f),
		waitCommand(f), resetCommand(f), undoCommand(f), provePodsCommand(), recoverCommand(f), installCommand(f), userDataCommand(f),
		manualCommand())
	refuseUnknown(cmd)
	return cmd
}

// flagTakes returns a description of the values of a flag type.
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
