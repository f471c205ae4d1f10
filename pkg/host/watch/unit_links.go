package watch

import (
	"path"
	"path/filepath"
	"strings"
)

// linkedUnitDirs are where the administrator, and who speaks for the running system, link units:
// what is enabled and what is masked.
var linkedUnitDirs = []string{"/etc/systemd/system", "/run/systemd/system"}

// usualWants is where most units are linked that are enabled.
const usualWants = "/etc/systemd/system/multi-user.target.wants"

// unitLinks are the paths that say of a unit whether it is enabled and masked: those that are
// there, the usual one, and those that mask. systemd does not tell who makes such links by hand.
func unitLinks(root, name string) (links []string) {
	links = append(links, path.Join(usualWants, name))
	for _, dir := range linkedUnitDirs {
		links = append(links, path.Join(dir, name))
		for _, kind := range []string{"wants", "requires", "upholds"} {
			found, _ := filepath.Glob(path.Join(root, dir, "*."+kind, name)) // the pattern is right
			for _, f := range found {
				links = append(links, path.Join("/", strings.TrimPrefix(f, path.Clean(root))))
			}
		}
	}
	return links
}
