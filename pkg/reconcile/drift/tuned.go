package drift

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/ledger"
)

// tunedDirs are where profiles of tuned are, those of people first; below /usr/lib/tuned since 2.23
// one directory deeper. https://github.com/redhat-performance/tuned/blob/master/tuned/consts.py
var tunedDirs = []string{"/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"}

// tunedProfiles bounds the profiles that are read: each may include others.
const tunedProfiles = 16

// tunedSets is the file of the active profile of tuned, or of one that it includes, that sets a
// sysctl; "" if none does. tuned writes its sysctls again whenever it is started or its profile
// changes, after sysctl.d.
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
