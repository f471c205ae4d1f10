// Package cli is what the agent's commands share: the settings from flags and from the agent's own
// file, the store that they open, output and exit codes, the display of a run, and the request to
// the daemon. It knows no single command.
package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/netwright/netwright/pkg/host"
)

// Flags are what all commands have: the settings of the root command's flags, and the command's
// input and output.
type Flags struct {
	Settings
	Output
}

// SayLimits warns a person whose command sees only a part of a running system. Below --root, which
// is for an image, it sees only files: a container may have the root of its node there. Outside of
// the system's network namespace it sees another network.
func SayLimits(f *Flags) {
	switch {
	case f.Host.Sandbox:
	case f.Host.Running(): // also if the root is written as "//"
		if inOtherNetwork() {
			fmt.Fprintln(f.Err, "agent: warning: this command runs in another network namespace than the system: links, "+
				"addresses, routes, nft and sysctls of the network are those of that namespace. See the system's with "+
				"`nsenter --target 1 --net agent …`")
		}
	default:
		evidence := filepath.Join(f.Host.Root, "run/systemd/system")
		if _, err := os.Lstat(evidence); err == nil {
			fmt.Fprintf(f.Err, "agent: warning: %s exists, so a system runs on this root, and --root is for images: links, "+
				"sysctls and units are not looked at. See them with `nsenter --target 1 --all agent …` on that system\n",
				evidence)
		}
	}
}

// RefuseOtherNetwork returns an error for a command that is about to change a running system from
// another network namespace than the system's: it would change the network of that namespace, and
// the files of the system.
func RefuseOtherNetwork(h host.Options) error {
	if h.Sandbox || !h.Running() || !inOtherNetwork() {
		return nil
	}
	return errors.New("this command runs in another network namespace than the system, and would change the network " +
		"of that namespace: run it in the system's with `nsenter --target 1 --net agent …`, try it with --sandbox, or " +
		"look with --dry-run")
}

// inOtherNetwork reports whether this process is in another network namespace than process 1. It
// returns false where that cannot be read.
func inOtherNetwork() bool {
	own, err := os.Readlink("/proc/self/ns/net")
	system, unread := os.Readlink("/proc/1/ns/net")
	return err == nil && unread == nil && own != system
}
