package bootstrap

import (
	"fmt"
	"path"
	"strings"
)

// ArchPlaceholder is the text in a mirror's URL that is replaced by the architecture.
const ArchPlaceholder = "{arch}"

// MirrorsOf returns the mirrors of each architecture. A URL without the placeholder has one
// program, so it is an error if there are several architectures.
func MirrorsOf(urls, archs []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, u := range urls {
		// first, because an error message shows u, which may contain a password
		if err := checkMirror(u); err != nil {
			return nil, err
		}
		if !strings.Contains(u, ArchPlaceholder) && len(archs) > 1 {
			return nil, fmt.Errorf("mirror %s: expected %s in the URL, because there are sums for %s: write "+
				"%s into the URL", u, ArchPlaceholder, strings.Join(archs, " and "), ArchPlaceholder)
		}
		for _, arch := range archs {
			out[arch] = append(out[arch], strings.ReplaceAll(u, ArchPlaceholder, arch))
		}
	}
	return out, nil
}

// Sums finds the sha256 of the program of each architecture in the output of sha256sum for a
// release. It compares file names with the last element of the URLs. An architecture that is not in
// the output gets no sha256.
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
					return nil, fmt.Errorf("%s has two sums for the agent of %s, %s and %s: use the sums of "+
						"one release",
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
