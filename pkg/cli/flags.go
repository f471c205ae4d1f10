// Package cli is what the agent's commands share: the settings from flags and from the agent's own
// file, the store that they open, output and exit codes, the display of a run, and the request to
// the daemon. It knows no single command.
package cli

// Flags are what all commands have: the settings of the root command's flags, and the command's
// input and output.
type Flags struct {
	Settings
	Output
}
