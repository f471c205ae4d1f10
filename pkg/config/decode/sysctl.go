package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// sysctlRoots are the directories of /proc/sys.
var sysctlRoots = []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"}

// SysctlKey returns a key in the dotted form. As for sysctl(8), the first separator decides: after
// a slash, dots are part of names.
func SysctlKey(key string) (canonical, hint string) {
	i := strings.IndexAny(key, "./")
	switch {
	case strings.HasPrefix(key, "-"):
		return "", "take the leading - off: a parameter that cannot be set is reported, not ignored"
	case strings.ContainsAny(key, "*?[]"):
		return "", "patterns are not supported: name the interface"
	case i < 0:
		return "", ""
	}
	if key[i] == '/' {
		key = strings.Map(func(r rune) rune {
			switch r {
			case '/':
				return '.'
			case '.':
				return '/'
			}
			return r
		}, key)
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"'\;#`, c) >= 0 {
			return "", ""
		}
	}
	for part := range strings.SplitSeq(key, ".") {
		if part == "" || strings.Trim(part, "/") == "" {
			return "", ""
		}
	}
	if slices.Contains(sysctlRoots, key[:i]) {
		return key, ""
	}
	if near := document.Nearest(key[:i], sysctlRoots); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near+key[i:])
	}
	return "", hint
}

// SysctlName reads a sysctl's key, in either form of sysctl(8).
func SysctlName(name string, to *string) Field {
	return Field{Name: name, Set: func(v Reading) {
		canonical, hint := SysctlKey(v.Str())
		if canonical == "" {
			v.Bad("a kernel parameter such as net.ipv4.ip_forward", hint)
			return
		}
		*to = canonical
	}}
}

// SysctlValue reads a string or a whole number, because people write a sysctl's value as either.
func SysctlValue(name string, to *string) Field {
	return Field{Name: name, Set: func(v Reading) {
		if v.Kind != document.KindInt && v.Kind != document.KindString || v.Text == "" ||
			!Printable(strings.ReplaceAll(v.Text, "\t", " ")) {
			v.Bad("a parameter's value such as 1", "")
			return
		}
		*to = v.Text
	}}
}
