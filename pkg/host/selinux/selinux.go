// Package selinux returns the SELinux type that the policy of a host has for a path, as
// restorecon(8) does. It reads the files that libselinux reads. It caches nothing, because a policy
// may be replaced at any time, and callers are about to write to a disk anyway.
//
// It does not handle processes, and it loads no policy.
package selinux

import (
	"bufio"
	"bytes"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// Kind is the kind of file that a line of a policy is for, as ls(1) shows it. "" is any kind.
type Kind string

// The kinds that callers use.
const (
	File      Kind = "--"
	Directory Kind = "-d"
	Symlink   Kind = "-l"
)

// Attribute is the extended attribute with the label of a file.
const Attribute = "security.selinux"

// mount is the mount point of the kernel's SELinux interface, if a policy is loaded.
const mount = "/sys/fs/selinux"

// Active reports whether SELinux is active. It is false, as in libselinux, if the interface is
// read-only (a container).
func Active() bool {
	var at unix.Statfs_t
	return unix.Statfs(mount, &at) == nil && at.Type == unix.SELINUX_MAGIC && at.Flags&unix.ST_RDONLY == 0
}

// Contexts are the file contexts of a policy: file_contexts(5).
type Contexts struct {
	lines []byte   // of all its files, in order: the later line counts
	subs  [][]byte // of its substitution files: the earlier line counts
}

// Read reads the file contexts of the policy in a root. If there are none, the error matches
// fs.ErrNotExist.
func Read(root string) (c Contexts, err error) {
	conf, err := blob.ReadFile(filepath.Join(root, "/etc/selinux/config"))
	if err != nil {
		return c, err
	}
	policy := "targeted" // the default of libselinux
	for line := range bytes.Lines(conf) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("SELINUXTYPE=")); ok {
			policy = string(bytes.TrimSpace(name))
		}
	}
	base := filepath.Join(root, "/etc/selinux", policy, "contexts/files/file_contexts")
	if c.lines, err = blob.ReadFile(base); err != nil {
		return c, err
	}
	for _, name := range []string{".homedirs", ".local"} {
		if more, err := blob.ReadFile(base + name); err == nil {
			c.lines = append(append(c.lines, '\n'), more...)
		}
	}
	for _, name := range []string{".subs", ".subs_dist"} {
		text, _ := blob.ReadFile(base + name) // most policies have none, or one of the two
		c.subs = append(c.subs, text)
	}
	return c, nil
}

// Type returns the type for an absolute path without symlinks. It is "" if the policy does not set
// one.
func (c Contexts) Type(path string, kind Kind) string {
	for _, text := range c.subs {
		path = substitute(text, path)
	}
	context, exact := "", false
	lines := bufio.NewScanner(bytes.NewReader(c.lines))
	for lines.Scan() {
		line := lines.Bytes()
		if !mayMatch(line, path) {
			continue
		}
		f := strings.Fields(string(line))
		if len(f) < 2 || len(f) == 3 && f[1] != string(kind) || exact && special(f[0]) || !matches(f[0], path) {
			continue
		}
		context, exact = f[len(f)-1], !special(f[0])
	}
	return TypeOf(context)
}

// TypeOf returns the type in a label USER:ROLE:TYPE[:LEVEL], or "".
func TypeOf(label string) string {
	if f := strings.SplitN(label, ":", 4); len(f) >= 3 {
		return f[2]
	}
	return ""
}

// WithType returns a label with another type. The rest stays, as with restorecon(8) without -F.
func WithType(label, name string) string {
	f := strings.SplitN(label, ":", 4)
	if len(f) < 3 {
		return label
	}
	f[2] = name
	return strings.Join(f, ":")
}

// substitute replaces the prefix of a path if a line "FROM TO" matches it.
func substitute(text []byte, path string) string {
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) != 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(path, f[0]); ok && (rest == "" || rest[0] == '/') {
			return f[1] + rest
		}
	}
	return path
}

// operators are the characters with a meaning in an expression.
const operators = `.^$?*+|[({`

// special reports whether an expression has operators. Lines without operators have priority.
func special(expression string) bool {
	for i := 0; i < len(expression); i++ {
		if expression[i] == '\\' {
			i++
		} else if strings.IndexByte(operators, expression[i]) >= 0 {
			return true
		}
	}
	return false
}

// mayMatch reports whether a path begins like a line's expression, up to the first operator. Nearly
// all of some thousand lines do not match, so their expressions need not be compiled.
func mayMatch(line []byte, path string) bool {
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		if i == len(line) || strings.IndexByte(operators, line[i]) >= 0 {
			return true
		}
		c := line[i]
		if c == ' ' || c == '\t' {
			return j == len(path)
		}
		if c == '\\' && i+1 < len(line) {
			i++
			c = line[i]
		}
		if j < len(path) && path[j] == c {
			continue
		}
		return i+1 < len(line) && strings.IndexByte("?*{", line[i+1]) >= 0 // it may be optional
	}
}

// matches reports whether an expression matches a path. An expression that is invalid in Go matches
// fs.ErrNotExist.
func matches(expression, path string) bool {
	e, err := regexp.Compile("^(?s:" + expression + ")$")
	return err == nil && e.MatchString(path)
}
