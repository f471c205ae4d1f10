package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// keys remembers where a list said a key first.
type keys map[string]document.Pos

// unique reports a key that its list says twice.
func (d *decoder) unique(seen keys, key string, where document.Pos, at string) bool {
	first, twice := seen[key]
	if twice {
		d.doc.ErrorAt(where, document.Diagnostic{ID: problem.FieldTwice, Summary: fmt.Sprintf("%q is in this list twice", document.Clip(key)), Field: at,
			Hint: fmt.Sprintf("it is first on line %d: take one of them out", first.Line)})
		return false
	}
	seen[key] = where
	return true
}

// required reports fields that a list's entry must have.
func (d *decoder) required(v *document.Value, at string, names ...string) bool {
	if v.Kind != document.KindMap {
		return false // said already
	}
	ok := true
	for _, name := range names {
		if v.Index(name) < 0 {
			d.doc.ErrorAt(v.Pos, document.Diagnostic{ID: problem.FieldMissing, Summary: fmt.Sprintf("%s.%s is missing", at, name), Field: at + "." + name, Hint: "add the field " + name + " here"})
			ok = false
		}
	}
	return ok
}

// merging returns a function that puts an element into the list: over the one of the same key, or
// at its end. So lists merge over cluster, node group and node. The keys of what is there are read
// once.
func merging[T any](list *[]T, key func(T) string) func(T) {
	if len(*list) == 0 { // whoever puts makes sure that one list has no key twice
		return func(x T) { *list = append(*list, x) }
	}
	index := make(map[string]int, len(*list))
	for i, x := range *list {
		index[key(x)] = i
	}
	return func(x T) {
		if i, ok := index[key(x)]; ok {
			(*list)[i] = x
			return
		}
		index[key(x)] = len(*list)
		*list = append(*list, x)
	}
}

// sysctls reads kOps' form: a list of "key=value".
func sysctlList(n *Node) set {
	return func(d *decoder, v *document.Value, at string) {
		seen := make(keys)
		put := merging(&n.SysctlParameters, func(s Sysctl) string { return s.Key })
		List(func(d *decoder, v *document.Value, item string) {
			if d.doc.dialect.lenient && d.passedBySysctl(v, item) {
				return
			}
			s, ok := d.sysctl(v, item)
			_, twice := seen[s.Key]
			later := twice && d.doc.dialect.lenient
			if !ok || !later && !d.unique(seen, s.Key, v.Pos, item) {
				return
			}
			d.origins[fmt.Sprintf("%s[%s]", at, s.Key)] = s.Origin
			if later {
				n.SysctlParameters[slices.IndexFunc(n.SysctlParameters, func(x Sysctl) bool { return x.Key == s.Key })] = s
				return
			}
			put(s)
		})(d, v, at)
	}
}

// passedBySysctl tells that an entry of kOps sets nothing here. nodeup writes its list as it is
// into a file of sysctl.d: so an entry may be a comment or empty (nodeup's own list begins so), and
// a pattern of names. Of two that set one key the later counts.
func (d *decoder) passedBySysctl(v *document.Value, at string) bool {
	key, _, _ := strings.Cut(v.Str(), "=")
	switch key = strings.TrimSpace(key); {
	case v.Kind != document.KindString:
		return false
	case strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";") || v.Str() == "":
		return true
	case !strings.ContainsAny(key, "*?[]"):
		return false
	}
	d.doc.WarnAt(v.Pos, document.Diagnostic{Summary: fmt.Sprintf("%s is %s, and patterns are not supported: it is not set", at, d.show(v, at)), Field: at,
		Hint: "name the interface"})
	return true
}

func (d *decoder) sysctl(v *document.Value, at string) (Sysctl, bool) {
	const expected = `a kernel parameter such as "net.ipv4.ip_forward=1"`
	switch {
	case v.Kind == document.KindMap && len(v.Entries) == 1 && v.Entries[0].Value.Kind <= document.KindString:
		d.bad(v, at, expected, fmt.Sprintf("write it with an equals sign: %s=%s", document.Clip(v.Entries[0].Key), document.Clip(v.Entries[0].Value.Text)))
		return Sysctl{}, false
	case v.Kind != document.KindString:
		d.bad(v, at, expected, "")
		return Sysctl{}, false
	}
	key, val, has := strings.Cut(v.Text, "=")
	key, val = strings.TrimSpace(key), strings.TrimSpace(val)
	if d.doc.dialect.lenient {
		key = strings.TrimPrefix(key, "-") // systemd-sysctl's: whether it could be set is reported in any case
	}
	if !has || val == "" || !printable(strings.ReplaceAll(val, "\t", " ")) {
		d.bad(v, at, expected, "")
		return Sysctl{}, false
	}
	canonical, hint := sysctlKey(key)
	if canonical == "" {
		d.bad(v, at, expected, hint)
		return Sysctl{}, false
	}
	d.knownSysctl(v, at, canonical, val)
	return Sysctl{Key: canonical, Value: val, Origin: d.doc.Origin(v.Pos)}, true
}

// sysctlRoots are the directories of /proc/sys.
var sysctlRoots = []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"}

// sysctlKey brings a key into the dotted form. As for sysctl(8), the first separator decides: after
// a slash, dots are part of names.
func sysctlKey(key string) (canonical, hint string) {
	i := strings.IndexAny(key, "./")
	switch {
	case strings.HasPrefix(key, "-"):
		return "", "take the leading - off: a parameter that cannot be set is reported, not ignored"
	case strings.ContainsAny(key, "*?[]"):
		return "", "patterns are not supported: name the interface"
	case i <= 0:
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
	for _, root := range sysctlRoots {
		if key[:i] == root {
			return key, ""
		}
	}
	if near := document.Nearest(key[:i], sysctlRoots); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near+key[i:])
	}
	return "", hint
}
