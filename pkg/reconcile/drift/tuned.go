package drift

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/ledger"
)

// tunedDirs are the directories of tuned's profiles; those of administrators come first. Since
// tuned 2.23 the profiles in /usr/lib/tuned are one directory deeper.
// https://github.com/redhat-performance/tuned/blob/master/tuned/consts.py
var tunedDirs = []string{"/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"}

// tunedProfiles bounds the number of profiles that are read, because each may include others.
const tunedProfiles = 16

// tunedSets returns the file of tuned's active profile, or of a profile that it includes, that sets
// a sysctl, or "". tuned writes its sysctls again whenever it starts or its profile changes, which
// is after sysctl.d.
func tunedSets(r ledger.Reader, key string) string {
	active, err := r.ReadFile("/etc/tuned/active_profile")
	if err != nil {
		return ""
	}
	names := strings.Fields(string(active))
	for i := 0; i < len(names) && i < tunedProfiles; i++ {
		for _, dir := range tunedDirs {
			file := path.Join(dir, path.Base(names[i]), "tuned.conf")
			text, err := r.ReadFile(file)
			if err != nil {
				continue
			}
			section := ""
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				name, value, set := strings.Cut(line, "=")
				switch name = strings.TrimSpace(name); {
				case strings.HasPrefix(line, "["):
					section = strings.Trim(line, "[]")
				case set && section == "sysctl" && strings.ReplaceAll(name, "/", ".") == key:
					return file
				case set && section == "main" && name == "include":
					names = append(names,
						strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
				}
			}
			break
		}
	}
	return ""
}
