// Package cli is what the verbs of the agent share: the settings that flags and the agent's own
// file make, the store that is opened as they say, output and exit codes, the display of a run, and
// the question to the daemon. It knows no verb.
package cli

// Flags are what all commands have: what the flags of the root say, and where a command reads and
// writes.
type Flags struct {
	Settings
	Output
}
