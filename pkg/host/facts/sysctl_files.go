package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// OwnSysctlFile is the name of the agent's file in sysctl.d.
const OwnSysctlFile = "99-netwright.conf"

// sysctlDirs are the directories that systemd-sysctl reads, the highest priority first
// (sysctl.d(5)).
var sysctlDirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
	"/lib/sysctl.d"}

// lateSysctls lists the keys in files that systemd-sysctl reads after the agent's file, by their
// names: these override it at boot. Debian and similar systems have 99-sysctl.conf, a link to
// /etc/sysctl.conf. Patterns are left out, because they do not apply to a key that a file names.
func (g gatherer) lateSysctls() {
	lines, problems := LateSysctls(g.files)
	g.facts.LateSysctls = lines
	for _, err := range problems {
		g.problem("read the files of sysctls", err)
	}
}

// LateSysctls reads the files again that are read after the agent's file in sysctl.d. It is for
// callers that cannot use the facts of an earlier look. The problems are files that cannot be read.
func LateSysctls(f hostfs.Files) (lines []SysctlLine, problems []error) {
	return sysctlLines(f, func(name string) bool { return name > OwnSysctlFile })
}

// BootSysctl returns the value that files of the host set for a key, without the agent's file. It
// is the value after a boot without the agent.
func BootSysctl(f hostfs.Files, key string) (value string, set bool, err error) {
	lines, problems := sysctlLines(f, func(name string) bool { return name != OwnSysctlFile })
	if err := errors.Join(problems...); err != nil {
		return "", false, fmt.Errorf("read the files of sysctls: %w", err)
	}
	for _, l := range lines {
		if l.Key == key {
			return l.Value, true, nil
		}
	}
	return "", false, nil
}

// sysctlLines reads the wanted files as systemd-sysctl does, sorted by name over all directories.
// If several directories have a file of the same name, it reads the one with the highest priority.
// The last value of a key counts.
func sysctlLines(f hostfs.Files, want func(name string) bool) (out []SysctlLine, problems []error) {
	files, problems := confFiles(f, sysctlDirs)
	for _, file := range files {
		if !want(path.Base(file)) {
			continue
		}
		target, _ := f.Readlink(file) // "" if it is no symlink
		raw, err := readConfig(f, file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // a symlink to nothing
				problems = append(problems, err)
			}
			continue
		}
		for _, s := range parseSysctls(string(raw)) {
			s.File, s.Target = file, target
			out = append(slices.DeleteFunc(out, func(old SysctlLine) bool { return old.Key == s.Key }), s)
		}
	}
	return out, problems
}

// parseSysctls parses the lines of a file as systemd-sysctl does. A dash before the key only means
// that a failure is ignored.
func parseSysctls(text string) (out []SysctlLine) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "-"), "=")
		if !ok {
			continue
		}
		key, err := kernel.CanonicalSysctl(strings.TrimSpace(key))
		if err != nil {
			continue // a pattern, or a key that systemd-sysctl also refuses
		}
		out = append(out, SysctlLine{Key: key, Value: strings.TrimSpace(value), Line: number})
	}
	return out
}
