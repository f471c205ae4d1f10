package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
)

// version is set by the linker.
var version = "devel"

func versionCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the agent's version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !f.Text() {
				return f.Data(map[string]string{"version": version, "os": runtime.GOOS, "arch": runtime.GOARCH,
					"go": runtime.Version()})
			}
			fmt.Fprintln(f.Out, versionLine())
			return nil
		},
	}
}

// versionLine is what the command says, and the flag --version, which people try first.
func versionLine() string {
	return fmt.Sprintf("netwright %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// addVersion gives a command the flag --version, which wins over whatever else is said, as cobra's
// own does. That is not used: to make it print our line takes a template, and text/template calls
// methods by names that only a run knows, so that the linker keeps every exported method of every
// type, some 10 MB.
func addVersion(cmd *cobra.Command, f *cli.Flags) {
	asked := cmd.Flags().Bool("version", false, "print the agent's version and exit")
	args, prepare, run := cmd.Args, cmd.PersistentPreRunE, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if *asked {
			return nil
		}
		return args(cmd, given)
	}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, given []string) error {
		if *asked {
			return nil
		}
		return prepare(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if *asked {
			fmt.Fprintln(f.Out, versionLine())
			return nil
		}
		return run(cmd, given)
	}
}
