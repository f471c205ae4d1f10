package decode

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// Text reads a string. valid may be nil. Otherwise it returns what was expected if a string is
// wrong, or "". The compiler must not inline Text, nor [Texts], [Bool], [AbsolutePath], [Into] and
// [Entries]: inlined at each call they took 190 kB.
//
//go:noinline
func Text(name string, to *string, valid func(string) string) Field {
	return Field{Name: name, to: to, Set: func(v Reading) {
		if v.Kind != document.KindString {
			v.WrongKind("a string")
			return
		}
		if valid != nil {
			if expected := valid(v.Text); expected != "" {
				v.Bad(expected, "")
				return
			}
		}
		*to = v.Text
	}}
}

// Texts reads a list of strings, each checked as in [Text]. The list replaces the one of an earlier
// document.
//
//go:noinline
func Texts(name string, to *[]string, valid func(string) string) Field {
	return Each(name, to, func(s *string) Set { return Text(name, s, valid).Set })
}

// Choice reads one of a few strings. Case matters. If a string is similar to one of them, the
// diagnostic names that one.
func Choice(name string, to *string, allowed ...string) Field {
	return Field{Name: name, to: to, Set: func(v Reading) {
		if v.Kind != document.KindString {
			v.WrongKind(OneOf(allowed))
			return
		}
		for _, a := range allowed {
			if v.Text == a {
				*to = a
				return
			}
		}
		v.Bad(OneOf(allowed), document.DidYouMean(v.Text, allowed))
	}}
}

// Bool reads true or false, and in a lenient dialect also yes and no.
//
//go:noinline
func Bool(name string, to *bool) Field {
	return Field{Name: name, to: to, Set: func(v Reading) {
		if v.Kind == document.KindBool {
			*to = strings.EqualFold(v.Text, "true")
			return
		}
		if v.Kind != document.KindString || v.Quoted {
			hint := ""
			if v.Kind == document.KindString && (v.Text == "true" || v.Text == "false") {
				hint = "take the quotes off"
			}
			if v.Kind == document.KindInt && (v.Text == "1" || v.Text == "0") {
				hint = fmt.Sprintf("write %t", v.Text == "1")
			}
			v.Bad("true or false", hint)
			return
		}
		var yes bool
		switch strings.ToLower(v.Text) {
		case "yes", "on", "y":
			yes = true
		case "no", "off", "n":
		default:
			v.Bad("true or false", "")
			return
		}
		if v.Doc.Dialect.Lenient {
			*to = yes
			return
		}
		v.Bad("true or false", fmt.Sprintf("YAML 1.2 reads %s as a string: write %t", v.Text, yes))
	}}
}

// OptionalBool is like [Bool], for a field where it matters whether a document sets it.
func OptionalBool(name string, to **bool) Field {
	return Field{Name: name, Set: func(v Reading) {
		var b bool
		Bool(name, &b).Set(v)
		*to = &b
	}}
}

// Number reads a whole number from low to high. In a document of kOps a 0 below low counts as not
// set, because kOps' types have 0 for a number that nobody set.
func Number(name string, to *int, low, high int) Field {
	return Field{Name: name, to: to, Set: func(v Reading) {
		expected := fmt.Sprintf("a whole number from %d to %d", low, high)
		n, err := strconv.Atoi(v.Text)
		switch {
		case v.Doc.Dialect.Lenient && v.Kind == document.KindInt && v.Text == "0" && low > 0 && !inList(v.Path):
			v.unset = true
		case v.Kind == document.KindString && err == nil && v.Quoted:
			v.Bad(expected, "take the quotes off")
		case v.Kind == document.KindString && strings.Trim(v.Text, "0123456789") == "" ||
			v.Kind == document.KindInt && (err != nil || strconv.Itoa(n) != v.Text):
			v.Bad(expected, "write it in decimal, with digits alone")
		case v.Kind != document.KindInt || n < low || n > high:
			v.Bad(expected, "")
		default:
			*to = n
		}
	}}
}

// These are the MTUs that IPv4 and the kernel's headers allow: RFC 791 requires 576 of every host,
// and the length field ends at 65535.
const (
	minMTU = 576
	maxMTU = 65535
)

// MTU reads the MTU of a link.
func MTU(name string, to *int) Field { return Number(name, to, minMTU, maxMTU) }

// AutoMTU reads an MTU. 0 means that the network detects it.
func AutoMTU(name string, to *int) Field {
	return Field{Name: name, Set: func(v Reading) {
		if v.Kind == document.KindInt && v.Text == "0" {
			*to = 0
			return
		}
		MTU(name, to).Set(v)
	}}
}

// Port reads the number of a port.
func Port(name string, to *int) Field { return Number(name, to, 1, 65535) }

// Version reads a Kubernetes version.
func Version(name string, to *values.Version) Field {
	return Release(name, to, "a Kubernetes version such as 1.31.2")
}

// Release reads a version of a program. An unquoted 1.30 is read as it is written, and not as the
// number 1.3.
func Release(name string, to *values.Version, expected string) Field {
	return Field{Name: name, Set: func(v Reading) {
		text, hint := v.Text, ""
		if named := versionIn(text); named != "" {
			hint = "write the version that the URL names: " + named
			if v.Doc.Dialect.Lenient {
				text = named
			}
		}
		parsed, err := values.ParseVersion(text)
		if (v.Kind != document.KindString && v.Kind != document.KindFloat) || err != nil {
			v.Bad(expected, hint)
			return
		}
		*to = parsed
	}}
}

// versionIn returns the Kubernetes version in the URL of a mirror or of a CI build, as kOps reads
// it, or "" if there is none.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/util/versions.go
func versionIn(text string) string {
	_, rest, _ := strings.Cut(text, "://")
	for part := range strings.SplitSeq(rest, "/") {
		if v, err := values.ParseVersion(part); strings.HasPrefix(part, "v") && err == nil {
			return v.String()
		}
	}
	return ""
}

// Duration reads a duration from low to high.
func Duration(name string, to *time.Duration, low, high time.Duration) Field {
	return Field{Name: name, to: to, Set: func(v Reading) {
		parsed, err := time.ParseDuration(v.Text)
		if v.Kind != document.KindString || err != nil || parsed < low || parsed > high {
			hint := ""
			if v.Kind == document.KindInt {
				hint = fmt.Sprintf("it has no unit: did you mean %ss?", v.Text)
			}
			v.Bad(fmt.Sprintf("a duration from %s to %s, such as 5m or 90s", low, high), hint)
			return
		}
		*to = parsed
	}}
}

// AbsolutePath reads a clean absolute path other than the root.
//
//go:noinline
func AbsolutePath(name string, to *string) Field {
	return Field{Name: name, Set: func(v Reading) {
		if v.Kind != document.KindString {
			v.WrongKind("a string: an absolute path")
			return
		}
		hint := ""
		clean := path.Clean(v.Text)
		if path.IsAbs(clean) && clean != v.Text {
			hint = fmt.Sprintf("write %s", document.Clip(clean))
		}
		if !path.IsAbs(v.Text) || strings.Contains(v.Text+"/", "/../") || strings.TrimSuffix(v.Text, "/") != clean ||
			clean == "/" || !Printable(v.Text) {
			v.Bad("an absolute path without ..", hint)
			return
		}
		*to = clean
	}}
}
