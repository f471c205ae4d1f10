package host

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// unitDirs is where systemd looks for units, the strongest first
// (systemd.unit(5), without generators).
var unitDirs = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
	"/usr/lib/systemd/system", "/lib/systemd/system",
}

// UnitFile is a unit's file and drop-ins, read without systemd: for images,
// and where asking over D-Bus costs more.
type UnitFile struct {
	Fragment string   // the file's path
	DropIns  []string // in the order in which they apply
	Masked   bool
	settings map[string][]string // "Section.Key" → values
}

// ReadUnitFile finds and merges a unit's files as systemd does. Templates and
// drop-ins for a whole type of units are not looked at. [ErrNotExist] if
// there is no such unit.
func ReadUnitFile(f Files, name string) (UnitFile, error) {
	u := UnitFile{settings: map[string][]string{}}
	for _, dir := range unitDirs {
		file := path.Join(dir, name)
		info, err := f.Lstat(file)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if info.Type == Symlink {
			if target, err := f.Readlink(file); err == nil && target == "/dev/null" {
				return UnitFile{Fragment: file, Masked: true}, nil
			}
		}
		var content []byte
		if err == nil {
			content, err = f.ReadFile(file)
		}
		if err != nil {
			return UnitFile{}, fmt.Errorf("read unit file %s: %w", file, err)
		}
		u.Fragment = file
		u.merge(content)
		break
	}
	if u.Fragment == "" {
		return UnitFile{}, fmt.Errorf("read unit %s: %w", name, ErrNotExist)
	}
	for _, file := range dropIns(f, name) {
		content, err := f.ReadFile(file)
		if err != nil {
			return UnitFile{}, fmt.Errorf("read drop-in %s: %w", file, err)
		}
		u.DropIns = append(u.DropIns, file)
		u.merge(content)
	}
	return u, nil
}

// dropIns lists a unit's drop-ins by name; of two with one name the stronger
// directory's counts.
func dropIns(f Files, unit string) []string {
	byName := map[string]string{}
	for _, dir := range unitDirs {
		dir = path.Join(dir, unit+".d")
		names, err := f.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if _, ok := byName[name]; !ok && strings.HasSuffix(name, ".conf") {
				byName[name] = path.Join(dir, name)
			}
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = byName[name]
	}
	return names
}

// ParseUnitFile reads the text of one unit file, without drop-ins.
func ParseUnitFile(content []byte) UnitFile {
	u := UnitFile{settings: map[string][]string{}}
	u.merge(content)
	return u
}

// Installs says that the unit can be enabled: its [Install] section says by what.
func (u UnitFile) Installs() bool {
	return slices.ContainsFunc([]string{"WantedBy", "RequiredBy", "UpheldBy", "Alias", "Also"}, func(key string) bool { return len(u.Values("Install", key)) > 0 })
}

// Values are all values of a setting. An empty assignment forgets those before it.
func (u UnitFile) Values(section, key string) []string { return u.settings[section+"."+key] }

// Last is the last value of a setting, or "".
func (u UnitFile) Last(section, key string) string {
	if v := u.Values(section, key); len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// merge reads one file over what was read before (systemd.syntax(7)).
func (u UnitFile) merge(content []byte) {
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
