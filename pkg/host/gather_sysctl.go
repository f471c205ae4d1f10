package host

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// OwnSysctlFile is the name of our file of sysctls.
const OwnSysctlFile = "99-netwright.conf"

// sysctlDirs is where systemd-sysctl looks for files, the strongest first (sysctl.d(5)).
var sysctlDirs = []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}

// lateSysctls lists what files set that systemd-sysctl reads after ours, by
// their names: at boot they win. Debian and its kin have such a file,
// 99-sysctl.conf, a link to /etc/sysctl.conf. Of one key the last is listed.
// Patterns are left out: where a key is named, they do not reach it.
func (g gatherer) lateSysctls() {
	byName := map[string]string{}
	for _, dir := range sysctlDirs {
		names, err := g.ReadDir(dir)
		if err != nil && !errors.Is(err, ErrNotExist) {
			g.problem("list the files of sysctls", err)
		}
		for _, name := range names {
			if _, stronger := byName[name]; !stronger && name > OwnSysctlFile && strings.HasSuffix(name, ".conf") {
				byName[name] = path.Join(dir, name)
			}
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file := byName[name]
		target, err := g.Readlink(file)
		if err == nil && target == "/dev/null" {
			continue
		}
		raw, err := g.ReadFile(file)
		if err != nil {
			if !errors.Is(err, ErrNotExist) { // a link to nothing
				g.problem("read a file of sysctls", err)
			}
			continue
		}
		for _, s := range parseSysctls(string(raw)) {
			s.File, s.Target = file, target
			g.facts.LateSysctls = slices.DeleteFunc(g.facts.LateSysctls, func(old SysctlLine) bool { return old.Key == s.Key })
			g.facts.LateSysctls = append(g.facts.LateSysctls, s)
		}
	}
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
		key, err := CanonicalSysctl(strings.TrimSpace(key))
		if err != nil {
			continue // a pattern, or what systemd-sysctl refuses too
		}
		out = append(out, SysctlLine{Key: key, Value: strings.TrimSpace(value)})
	}
	return out
}
