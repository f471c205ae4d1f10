package extras

import (
	"path"
	"strings"
)

// merged are the directories that are symbolic links on a host with a merged /usr, and their
// targets. On other hosts both directories have programs.
var merged = [...][2]string{{"/bin/", "/usr/bin/"}, {"/sbin/", "/usr/sbin/"}, {"/lib/", "/usr/lib/"},
	{"/var/run/", "/run/"}}

// canonical cleans a path and replaces the links of a merged /usr: the form of [reservedPaths].
func canonical(at string) string {
	at = path.Clean(at)
	for _, link := range merged {
		if below, ok := strings.CutPrefix(at, link[0]); ok {
			at = link[1] + below
			break
		}
	}
	if name, ok := strings.CutPrefix(at, "/usr/sbin/"); ok && name != "init" {
		return "/usr/bin/" + name // now the same directory, on some hosts
	}
	return at
}
