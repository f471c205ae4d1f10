package systemd

import (
	"iter"
	"slices"
	"strings"
)

// UnitFile is a unit's file with its drop-ins, parsed without systemd: for images, and where a
// D-Bus request would cost more.
type UnitFile struct {
	Fragment string              // path of the main file
	DropIns  []string            // in the order in which they apply
	contents [][]byte            // of Fragment, and of each of DropIns
	Unread   []error             // drop-ins that cannot be read
	Masked   bool                // its file is empty, and hides all others
	settings map[string][]string // "Section.Key" → values
}

// ParseUnitFile parses one unit file, without drop-ins.
func ParseUnitFile(content []byte) UnitFile {
	u := UnitFile{settings: map[string][]string{}}
	u.Merge(content)
	return u
}

// Add applies a file after the files before: the main file first, and then each drop-in.
func (u *UnitFile) Add(file string, content []byte) {
	if u.Fragment == "" {
		u.Fragment = file
	} else {
		u.DropIns = append(u.DropIns, file)
	}
	u.contents = append(u.contents, content)
	u.Merge(content)
}

// Files returns the main file and the drop-ins with their contents, in the order in which they
// apply.
func (u UnitFile) Files() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i, content := range u.contents {
			file := u.Fragment
			if i > 0 {
				file = u.DropIns[i-1]
			}
			if !yield(file, content) {
				return
			}
		}
	}
}

// Installs reports whether the unit can be enabled: its [Install] section has a setting for it.
func (u UnitFile) Installs() bool {
	return slices.ContainsFunc([]string{"WantedBy", "RequiredBy", "UpheldBy", "Alias", "Also"},
		func(key string) bool { return len(u.Values("Install", key)) > 0 })
}

// Values returns all values of a setting. An empty assignment removes the values before it.
func (u UnitFile) Values(section, key string) []string { return u.settings[section+"."+key] }

// UnitLines returns the lines of a unit file as systemd reads them, without comments. A line that
// ends with a backslash continues on the next line, even after a comment in between. A comment does
// not continue. A carriage return and a NUL also end a line (src/basic/fileio.c, read_line_full). A
// byte order mark is ignored (src/shared/conf-parser.c, config_parse).
func UnitLines(text string) iter.Seq[string] {
	if strings.ContainsAny(text, "\r\x00") {
		text = strings.NewReplacer("\r\n", "\n", "\n\r", "\n", "\r", "\n", "\x00", "\n").Replace(text)
	}
	return func(yield func(string) bool) {
		held := ""
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimLeft(strings.TrimPrefix(line, "\ufeff"), " \t")
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
				continue
			}
			if part, ok := strings.CutSuffix(line, `\`); ok {
				held += part + " "
				continue
			}
			if line, held = strings.TrimSpace(held+line), ""; line != "" && !yield(line) {
				return
			}
		}
		if held != "" {
			yield(strings.TrimSpace(held))
		}
	}
}

// Merge parses one file and applies it after the files before (systemd.syntax(7)).
func (u UnitFile) Merge(content []byte) {
	section := ""
	for text := range UnitLines(string(content)) {
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
