package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// sysctls reads kOps' form: a list of "key=value".
func sysctlList(n *Node) set {
	return func(d *decoder, v *document.Value, at string) {
		seen := make(keys)
		put := merging(&n.SysctlParameters, func(s Sysctl) string { return s.Key })
		List(func(d *decoder, v *document.Value, item string) {
			if d.doc.dialect.lenient && passedBySysctl(d, v, item) {
				return
			}
			s, ok := sysctl(d, v, item)
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
func passedBySysctl(d *decoder, v *document.Value, at string) bool {
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

func sysctl(d *decoder, v *document.Value, at string) (Sysctl, bool) {
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
	knownSysctl(d, v, at, canonical, val)
	return Sysctl{Key: canonical, Value: val, Origin: d.doc.Origin(v.Pos)}, true
}
