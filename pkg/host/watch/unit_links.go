package watch

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// usualWants is the directory with the symlinks of most enabled units.
const usualWants = systemd.AdminUnitDir + "/multi-user.target.wants"

// unitLinks returns the paths that show whether a unit is enabled or masked: the existing symlinks,
// the usual one, and those of masks. systemd sends no signal when somebody creates such symlinks by
// hand.
func unitLinks(root, name string) (links []string) {
	links = append(links, path.Join(usualWants, name))
	for _, dir := range []string{systemd.AdminUnitDir, systemd.RuntimeUnitDir} {
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
