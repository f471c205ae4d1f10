// Package cli is what the agent's commands share: the settings from flags and from the agent's own
// file, the store that they open, output and exit codes, the display of a run, and the request to
// the daemon. It knows no single command.
package cli

import (
	"fmt"
	"os"
	"path/filepath"
)

// Flags are what all commands have: the settings of the root command's flags, and the command's
// input and output.
type Flags struct {
	Settings
	Output
}

// SayFilesOnly warns a person whose command sees only the files of a running system: --root is for
// an image, and a container may have the root of its node there.
func SayFilesOnly(f *Flags) {
	if f.Host.Running() || f.Host.Sandbox { // also if it is written as "//"
		return
	}
	evidence := filepath.Join(f.Host.Root, "run/systemd/system")
	if _, err := os.Lstat(evidence); err == nil {
		fmt.Fprintf(f.Err, "agent: warning: %s exists, so a system runs on this root, and --root is for images: links, "+
			"sysctls and units are not looked at. See them with `nsenter --target 1 --all agent …` on that system\n",
			evidence)
	}
}
