// Package selinux says which SELinux type the policy of a host has for a path, as restorecon(8)
// does. It reads the files that libselinux reads, and keeps nothing: a policy may be replaced at
// any time, and who asks is about to write to a disk.
//
// It does not know processes, and loads no policy.
package selinux

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what kind of file a line of a policy is about, as ls(1) shows it. "" is any.
type Kind string

// The kinds that are asked for.
const (
	File      Kind = "--"
	Directory Kind = "-d"
	Symlink   Kind = "-l"
)

// Attribute is the extended attribute that holds the label of a file.
const Attribute = "security.selinux"

// mount is where the kernel's own interface is, if a policy is loaded.
const mount = "/sys/fs/selinux"

// Active says that labels count on this machine. As for libselinux, one that may not be told
// anything (a container) has none.
func Active() bool {
	var at unix.Statfs_t
	return unix.Statfs(mount, &at) == nil && at.Type == unix.SELINUX_MAGIC && at.Flags&unix.ST_RDONLY == 0
}

// Contexts are what a policy says of files: file_contexts(5).
type Contexts struct {
	lines []byte   // of its files, one after the other: of two lines the later counts
	subs  [][]byte // of its files of substitutions: of two lines the earlier counts
}

// Read reads what the policy of a root says; [os.ErrNotExist] if it has none.
func Read(root string) (c Contexts, err error) {
	conf, err := os.ReadFile(filepath.Join(root, "/etc/selinux/config"))
	if err != nil {
		return c, err
	}
	policy := "targeted" // as libselinux has it
	for line := range bytes.Lines(conf) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("SELINUXTYPE=")); ok {
			policy = string(bytes.TrimSpace(name))
		}
	}
	base := filepath.Join(root, "/etc/selinux", policy, "contexts/files/file_contexts")
	if c.lines, err = os.ReadFile(base); err != nil {
		return c, err
	}
	for _, name := range []string{".homedirs", ".local"} {
		if more, err := os.ReadFile(base + name); err == nil {
			c.lines = append(append(c.lines, '\n'), more...)
		}
	}
	for _, name := range []string{".subs", ".subs_dist"} {
		text, _ := os.ReadFile(base + name) // most have none, or one of them
		c.subs = append(c.subs, text)
	}
	return c, nil
}

// Type is the type of what is at an absolute path without links, or "": the policy leaves it as it
// comes.
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

// TypeOf is the type of a label USER:ROLE:TYPE[:LEVEL], or "".
func TypeOf(label string) string {
	if f := strings.SplitN(label, ":", 4); len(f) >= 3 {
		return f[2]
	}
	return ""
}

// WithType is a label with another type: as restorecon(8) without -F, a file keeps the rest.
func WithType(label, name string) string {
	f := strings.SplitN(label, ":", 4)
	if len(f) < 3 {
		return label
	}
	f[2] = name
	return strings.Join(f, ":")
}

// substitute takes a path for another one, if a line "FROM TO" says so.
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

// operators are what is no plain character of an expression.
const operators = `.^$?*+|[({`

// special says that an expression is more than a path. Of one that is none the line counts more.
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

// mayMatch says that a path begins as a line's expression does, up to the first operator. Nearly
// all of some thousand lines do not, and no expression is compiled for them.
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
		return i+1 < len(line) && strings.IndexByte("?*{", line[i+1]) >= 0 // there may be none of it
	}
}

// matches says that an expression is about a path. One that is none for Go is about none.
func matches(expression, path string) bool {
	e, err := regexp.Compile("^(?s:" + expression + ")$")
	return err == nil && e.MatchString(path)
}
