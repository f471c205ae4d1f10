package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// described is what `git describe --tags --always --dirty` says: a tag, how many commits after it
// and which, or a commit alone.
var described = regexp.MustCompile(`^(?:v?([0-9]+\.[0-9.]*)(?:-([A-Za-z][0-9A-Za-z.-]*?))??(?:-([0-9]+)-g([0-9a-f]+))?|([0-9a-f]{7,40}))(-dirty)?$`)

// packageVersion is a version of git in the terms that deb and rpm share, so that what comes later
// is also what they call newer: a release candidate is older than its release (~), what was built
// after a tag newer than it (+), and what was built before there was any tag older than all, in the
// order of time. See https://www.debian.org/doc/debian-policy/ch-controlfields.html#version and
// https://rpm.org/docs/latest/man/rpm-version.7.
func packageVersion(version string, built time.Time) (string, error) {
	m := described.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %q: expected what `git describe --tags --always --dirty` says, such as v1.2.3, v1.2.3-rc.1, v1.2.3-4-g0123abc or 0123abc", version)
	}
	release, candidate, after, at, commit, dirty := m[1], m[2], m[3], m[4], m[5], m[6]
	var out strings.Builder
	switch {
	case commit != "":
		fmt.Fprintf(&out, "0~%s.g%s", built.UTC().Format("20060102150405"), commit)
	default:
		out.WriteString(release)
		if candidate != "" {
			out.WriteString("~" + strings.ReplaceAll(candidate, "-", "."))
		}
		if after != "" {
			fmt.Fprintf(&out, "+%s.g%s", after, at)
		}
	}
	if dirty != "" {
		out.WriteString("+dirty")
	}
	return out.String(), nil
}
