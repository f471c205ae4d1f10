package bootstrap

import (
	"fmt"
	"path"
	"strings"
)

// ArchPlaceholder stands for the architecture in the URL of a mirror.
const ArchPlaceholder = "{arch}"

// MirrorsOf writes the mirrors of each architecture out. One whose URL does not name the place of
// the architecture has only one program, so it does for one architecture alone.
func MirrorsOf(urls, archs []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, u := range urls {
		if err := checkMirror(u); err != nil { // before it is in an error: it may hold a password
			return nil, err
		}
		if !strings.Contains(u, ArchPlaceholder) && len(archs) > 1 {
			return nil, fmt.Errorf("mirror %s: it does not say where %s goes, and there are sums for %s: write %s "+
				"into the URL", u, ArchPlaceholder, strings.Join(archs, " and "), ArchPlaceholder)
		}
		for _, arch := range archs {
			out[arch] = append(out[arch], strings.ReplaceAll(u, ArchPlaceholder, arch))
		}
	}
	return out, nil
}

// Sums finds the sha256 of each architecture's program in what sha256sum printed of a release: by
// the name that the URLs end in. An architecture that is not in it has none.
func Sums(name string, content []byte, urls []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arch := range Architectures {
		for _, u := range urls {
			base := strings.ReplaceAll(path.Base(u), ArchPlaceholder, arch)
			for line := range strings.Lines(string(content)) {
				sum, file, ok := strings.Cut(strings.TrimSpace(line), " ")
				file = path.Base(strings.TrimLeft(file, " *"))
				if !ok || file != base {
					continue
				}
				if known := out[arch]; known != "" && known != sum {
					return nil, fmt.Errorf("%s has two sums for the agent of %s, %s and %s: take it from one release",
						name, arch, known, sum)
				}
				out[arch] = sum
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s names no file that a mirror has: expected lines of sha256sum with the names that "+
			"the URLs end in", name)
	}
	return out, nil
}
