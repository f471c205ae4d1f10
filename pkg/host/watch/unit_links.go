package watch

import (
	"path"
	"path/filepath"
	"strings"
)

// linkedUnitDirs are the directories with the symlinks of enabled and masked units, of the
// administrator and of the running system.
var linkedUnitDirs = []string{"/etc/systemd/system", "/run/systemd/system"}

// usualWants is the directory with the symlinks of most enabled units.
const usualWants = "/etc/systemd/system/multi-user.target.wants"

// unitLinks returns the paths that show whether a unit is enabled or masked: the existing symlinks,
// the usual one, and those of masks. systemd sends no signal when somebody creates such symlinks by
// hand.
func unitLinks(root, name string) (links []string) {
	links = append(links, path.Join(usualWants, name))
	for _, dir := range linkedUnitDirs {
		links = append(links, path.Join(dir, name))
		for _, kind := range []string{"wants", "requires", "upholds"} {
			found, _ := filepath.Glob(path.Join(root, dir, "*."+kind, name)) // the pattern is valid
			for _, f := range found {
				links = append(links, path.Join("/", strings.TrimPrefix(f, path.Clean(root))))
			}
		}
	}
	return links
}
