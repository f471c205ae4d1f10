package facts

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// hostname returns the name of the running host, or the name that an image will have.
func hostname(l *Sources) string {
	var uts unix.Utsname
	if l.opt.live() && unix.Uname(&uts) == nil {
		return unix.ByteSliceToString(uts.Nodename[:])
	}
	raw, err := l.files.ReadFile("/etc/hostname")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// initSystem returns "systemd" if systemd runs and may be asked, or if it is installed in an image.
func initSystem(l *Sources) string {
	if l.opt.live() {
		if l.units.Here {
			return "systemd"
		}
		return ""
	}
	if isThere(l.files, "/usr/lib/systemd/systemd") || isThere(l.files, "/lib/systemd/systemd") {
		return "systemd"
	}
	return ""
}

// osRelease reads os-release(5).
func (g gatherer) osRelease() {
	raw, err := g.files.ReadFile("/etc/os-release")
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = g.files.ReadFile("/usr/lib/os-release")
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			g.problem("read os-release", err)
		}
		return
	}
	values := ParseAssignments(raw)
	g.facts.OS = OSRelease{
		ID:        values["ID"],
		IDLike:    strings.Fields(values["ID_LIKE"]),
		VersionID: values["VERSION_ID"],
		Pretty:    values["PRETTY_NAME"],
	}
}

// ParseAssignments parses NAME=value lines as systemd does, without expansion: os-release(5),
// EnvironmentFile= of systemd.exec(5), state files of networkd. A later line overrides an earlier
// one.
func ParseAssignments(raw []byte) map[string]string {
	values := map[string]string{}
	for rest := string(raw); rest != ""; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		end := strings.IndexAny(rest+"\n", "\r\n")
		name, value, ok := strings.Cut(rest[:end], "=")
		if !ok || strings.HasPrefix(name, "#") || strings.HasPrefix(name, ";") {
			rest = rest[end:]
			continue
		}
		value, rest = assigned(rest[end-len(value):])
		if name = strings.TrimSpace(name); isName(name) {
			values[name] = value
		}
	}
	return values
}

// assigned splits text into a value and the rest after it. In quotes, a value may have several
// lines. Quotes have a meaning only at the beginning of a value or of a part of it.
// https://github.com/systemd/systemd/blob/v252/src/basic/env-file.c (parse_env_file_internal)
func assigned(text string) (value, rest string) {
	var b strings.Builder
	kept := 0 // length without blanks at its end
	quote, begins := byte(0), true
	for i := 0; i < len(text); i++ {
		c := text[i]
		newline, blank := c == '\n' || c == '\r', c == ' ' || c == '\t'
		switch {
		case quote == '\'' && c != quote, quote == '"' && c != quote && c != '\\':
			b.WriteByte(c)
		case quote != 0 && c == quote:
			quote, begins = 0, true
		case c == '\\' && i+1 < len(text):
			i++
			if quote == '"' && !strings.ContainsRune("\"\\`$\n", rune(text[i])) {
				b.WriteByte(c)
			}
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			begins = false
		case newline:
			return b.String()[:kept], text[i:]
		case begins && (c == '"' || c == '\''):
			quote = c
		case begins && blank:
			continue
		default:
			b.WriteByte(c)
			if begins = false; blank {
				continue
			}
		}
		kept = b.Len()
	}
	return b.String()[:kept], ""
}

// ResolvConfs are the files with the name servers of a host: /etc/resolv.conf, and the files of
// systemd-resolved and NetworkManager with the servers behind their local stub (rc-manager,
// no-stub-resolv.conf).
// https://www.freedesktop.org/software/systemd/man/latest/systemd-resolved.service.html#/etc/resolv.conf
// https://networkmanager.dev/docs/api/latest/NetworkManager.conf.html
var ResolvConfs = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf",
	"/run/NetworkManager/no-stub-resolv.conf"}

func (g gatherer) resolvConf() {
	for _, file := range ResolvConfs {
		raw, err := g.files.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "nameserver" {
				continue
			}
			if server, err := netip.ParseAddr(words[1]); err == nil && !server.IsLoopback() {
				g.facts.ResolvConf = file
				return
			}
		}
	}
}
