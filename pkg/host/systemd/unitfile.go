package systemd

import (
	"bytes"
	"slices"
	"strings"
)

// UnitFile is a unit's file and drop-ins, read without systemd: for images,
// and where asking over D-Bus costs more.
type UnitFile struct {
	Fragment string              // the file's path
	DropIns  []string            // in the order in which they apply
	Unread   []error             // drop-ins that cannot be read
	Masked   bool                // its file has no content, and hides all others
	settings map[string][]string // "Section.Key" → values
}

// ParseUnitFile reads the text of one unit file, without drop-ins.
func ParseUnitFile(content []byte) UnitFile {
	u := UnitFile{settings: map[string][]string{}}
	u.Merge(content)
	return u
}

// Installs says that the unit can be enabled: its [Install] section says by what.
func (u UnitFile) Installs() bool {
	return slices.ContainsFunc([]string{"WantedBy", "RequiredBy", "UpheldBy", "Alias", "Also"},
		func(key string) bool { return len(u.Values("Install", key)) > 0 })
}

// Values are all values of a setting. An empty assignment forgets those before it.
func (u UnitFile) Values(section, key string) []string { return u.settings[section+"."+key] }

// Merge reads one file over what was read before (systemd.syntax(7)).
func (u UnitFile) Merge(content []byte) {
	section, held := "", ""
	for line := range bytes.Lines(content) {
		text := strings.TrimSpace(string(line))
		if text != "" && (text[0] == '#' || text[0] == ';') {
			continue // also between continued lines
		}
		if part, ok := strings.CutSuffix(text, `\`); ok {
			held += part + " "
			continue
		}
		text, held = strings.TrimSpace(held+text), ""
		if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
			section = text[1 : len(text)-1]
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			continue
		}
		at := section + "." + strings.TrimSpace(key)
		if value = strings.TrimSpace(value); value == "" {
			delete(u.settings, at)
			continue
		}
		u.settings[at] = append(u.settings[at], value)
	}
}
