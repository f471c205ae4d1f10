package config

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// keys remembers where a list said a key first.
type keys map[string]pos

// unique reports a key that its list says twice.
func (d *decoder) unique(seen keys, key string, where pos, at string) bool {
	first, twice := seen[key]
	if twice {
		d.doc.errorAt(where, Diagnostic{Summary: fmt.Sprintf("%q is in this list twice", clip(key)), Field: at,
			Hint: fmt.Sprintf("it is first on line %d", first.line)})
		return false
	}
	seen[key] = where
	return true
}

// required reports fields that a list's entry must have.
func (d *decoder) required(v *value, at string, names ...string) bool {
	if v.kind != kindMap {
		return false // said already
	}
	ok := true
	for _, name := range names {
		if v.index(name) < 0 {
			d.doc.errorAt(v.pos, Diagnostic{Summary: fmt.Sprintf("%s.%s is missing", at, name), Field: at + "." + name})
			ok = false
		}
	}
	return ok
}

// merging returns a function that puts an element into the list: over the one of the same key, or at its end. So lists merge over cluster,
// node group and node. The keys of what is there are read once.
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
func (d *decoder) sysctls(n *Node) set {
	return func(v *value, at string) {
		seen := make(keys)
		put := merging(&n.SysctlParameters, func(s Sysctl) string { return s.Key })
		d.list(func(v *value, item string) {
			s, ok := d.sysctl(v, item)
			if !ok || !d.unique(seen, s.Key, v.pos, item) {
				return
			}
			d.origins[fmt.Sprintf("%s[%s]", at, s.Key)] = s.Origin
			put(s)
		})(v, at)
	}
}

func (d *decoder) sysctl(v *value, at string) (Sysctl, bool) {
	const expected = `a kernel parameter such as "net.ipv4.ip_forward=1"`
	switch {
	case v.kind == kindMap && len(v.entries) == 1 && v.entries[0].value.kind <= kindString:
		d.bad(v, at, expected, fmt.Sprintf("write it with an equals sign: %s=%s", clip(v.entries[0].key), clip(v.entries[0].value.text)))
		return Sysctl{}, false
	case v.kind != kindString:
		d.bad(v, at, expected, "")
		return Sysctl{}, false
	}
	key, val, has := strings.Cut(v.text, "=")
	key, val = strings.TrimSpace(key), strings.TrimSpace(val)
	if !has || val == "" || !printable(strings.ReplaceAll(val, "\t", " ")) {
		d.bad(v, at, expected, "")
		return Sysctl{}, false
	}
	canonical, hint := sysctlKey(key)
	if canonical == "" {
		d.bad(v, at, expected, hint)
		return Sysctl{}, false
	}
	return Sysctl{Key: canonical, Value: val, Origin: d.doc.origin(v.pos)}, true
}

// sysctlRoots are the directories of /proc/sys.
var sysctlRoots = []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"}

// sysctlKey brings a key into the dotted form. As for sysctl(8), the first separator decides: after a slash, dots are part of names.
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
	if near := nearest(key[:i], sysctlRoots); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near+key[i:])
	}
	return "", hint
}

func (d *decoder) assets(n *Node) set {
	return func(v *value, at string) {
		seen := make(keys)
		put := merging(&n.Assets, func(a Asset) string { return a.Name })
		d.list(func(v *value, item string) {
			a := Asset{Arch: make(map[string]AssetFile), Origin: d.doc.origin(v.pos)}
			d.mapping(v, item, []field{
				{name: "name", set: d.text(&a.Name, validName)},
				{name: "version", set: d.text(&a.Version, nil)},
				{name: "members", set: d.texts(&a.Members, validMember)},
				{name: "arch", set: d.into(func() []field {
					return []field{{name: "amd64", set: d.assetFile(a.Arch, "amd64")}, {name: "arm64", set: d.assetFile(a.Arch, "arm64")}}
				})},
			})
			if !d.required(v, item, "name", "arch") || !d.unique(seen, v.get("name").str(), v.get("name").pos, item+".name") {
				return
			}
			d.origins[fmt.Sprintf("%s[%s]", at, a.Name)] = a.Origin
			put(a)
		})(v, at)
	}
}

func (d *decoder) assetFile(to map[string]AssetFile, arch string) set {
	return func(v *value, at string) {
		var f AssetFile
		d.mapping(v, at, []field{{name: "sha256", set: d.text(&f.SHA256, validSHA256)}, {name: "urls", set: d.texts(&f.URLs, validURL)}})
		if d.required(v, at, "sha256", "urls") && len(f.URLs) == 0 {
			d.bad(v.get("urls"), at+".urls", "at least one URL", "")
		}
		to[arch] = f
	}
}

func validSHA256(s string) string {
	if len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" {
		return ""
	}
	if len(s) == 64 {
		return "64 lower-case hex digits"
	}
	return fmt.Sprintf("64 lower-case hex digits, and this is %d characters", len(s))
}

// validMember accepts the name of a file in an archive: relative, clean, not leaving the archive.
func validMember(s string) string {
	if s == "" || s == "." || path.Clean(s) != s || path.IsAbs(s) || s == ".." || strings.HasPrefix(s, "../") || !printable(s) {
		return "a file's name in the archive, such as bridge or bin/bridge"
	}
	return ""
}

// validURL accepts what a state store can fetch. A sha256 guards the content, so plain http is allowed.
func validURL(s string) string {
	const expected = "an https, http, s3 or file URL, or a path relative to the store such as assets/cni-plugins.tgz"
	u, err := url.Parse(s)
	if err != nil || s == "" || strings.ContainsAny(s, " \t\n") || u.Fragment != "" {
		return expected
	}
	if u.User != nil {
		return "a URL without a user and password"
	}
	switch u.Scheme {
	case "https", "http", "s3":
		if u.Host != "" && u.Path != "" {
			return ""
		}
	case "file":
		if u.Host == "" && path.IsAbs(u.Path) && path.Clean(u.Path) == u.Path {
			return ""
		}
	case "":
		if u.Host == "" && u.RawQuery == "" && validMember(s) == "" {
			return ""
		}
	}
	return expected
}

func validMirror(s string) string {
	u, err := url.Parse(s)
	if err == nil && u.User != nil {
		return "a URL without a user and password"
	}
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "s3" {
		return "the base URL of a mirror such as https://mirror.example.com/netwright"
	}
	return ""
}
