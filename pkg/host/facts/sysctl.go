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

// OwnSysctlFile is the name of our file of sysctls.
const OwnSysctlFile = "99-netwright.conf"

// sysctlDirs is where systemd-sysctl looks for files, the strongest first (sysctl.d(5)).
var sysctlDirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
	"/lib/sysctl.d"}

// lateSysctls lists what files set that systemd-sysctl reads after ours, by their names: at boot
// they win. Debian and its kin have such a file, 99-sysctl.conf, a link to /etc/sysctl.conf.
// Patterns are left out: where a key is named, they do not reach it.
func (g gatherer) lateSysctls() {
	lines, problems := LateSysctls(g.files)
	g.facts.LateSysctls = lines
	for _, err := range problems {
		g.problem("read the files of sysctls", err)
	}
}

// LateSysctls is what files of sysctl.d set now that are read after ours, for who cannot go by the
// facts of an earlier look. The problems are files that cannot be read.
func LateSysctls(f hostfs.Files) (lines []SysctlLine, problems []error) {
	return sysctlLines(f, func(name string) bool { return name > OwnSysctlFile })
}

// BootSysctl is what files of the host set a key to, all but ours: the value that it has after a
// boot without us.
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

// sysctlLines reads the files whose names are wanted as systemd-sysctl does: by name over all
// directories, of one name the strongest, of one key the last.
func sysctlLines(f hostfs.Files, want func(name string) bool) (out []SysctlLine, problems []error) {
	files, problems := confFiles(f, sysctlDirs)
	for _, file := range files {
		if !want(path.Base(file)) {
			continue
		}
		target, _ := f.Readlink(file) // none of a file
		raw, err := readConfig(f, file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // a link to nothing
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

// parseSysctls reads the lines of a file as systemd-sysctl does: a dash before
// the key only says that a failure is none.
func parseSysctls(text string) (out []SysctlLine) {
	for line := range strings.Lines(text) {
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
			continue // a pattern, or what systemd-sysctl refuses too
		}
		out = append(out, SysctlLine{Key: key, Value: strings.TrimSpace(value)})
	}
	return out
}
