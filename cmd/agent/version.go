package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func versionCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the agent's version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if !f.text() {
				return f.data(s, map[string]string{"version": version, "os": runtime.GOOS, "arch": runtime.GOARCH, "go": runtime.Version()})
			}
			_, err := fmt.Fprintln(s.out, versionLine())
			return err
		},
	}
}

// versionLine is what the command says, and the flag --version, which people try first.
func versionLine() string {
	return fmt.Sprintf("netwright %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
