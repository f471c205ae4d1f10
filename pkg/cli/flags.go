package cli

// Flags are what all commands have: what the flags of the root say, and where a command reads and
// writes.
type Flags struct {
	Settings
	Output
}
