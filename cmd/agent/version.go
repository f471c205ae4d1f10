package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
)

// version is the agent's version; the linker sets it.
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

// versionLine returns what the command version and the flag --version print.
func versionLine() string {
	return fmt.Sprintf("netwright %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// addVersion adds the flag --version, which overrides all other arguments, as cobra's own does.
// Cobra's own is not used: to print this line it needs a template, and text/template calls methods
// by names that are known only at run time, so the linker would keep every exported method of every
// type, about 10 MB.
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
