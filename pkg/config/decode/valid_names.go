package decode

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/netwright/netwright/pkg/plural"
)

// Printable reports whether a text has no line break and no control character.
func Printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// ValidName accepts the names that Kubernetes gives to nodes and kOps to clusters (RFC 1123
// subdomains).
func ValidName(s string) string {
	const expected = "a name of lower-case letters, digits, - and ., at most 253 characters, beginning and ending " +
		"with a letter or digit"
	if s == "" || len(s) > 253 {
		return expected
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return expected
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return expected
			}
		}
	}
	return ""
}

// NotEmpty accepts a text of one or more lines. Like all such functions here, it returns what was
// expected, or "" if the text is accepted.
func NotEmpty(s string) string {
	if s == "" || !Printable(strings.ReplaceAll(s, "\n", "")) {
		return "a text"
	}
	return ""
}

// ValidConfName accepts the name of a file that runtimes read as a conf.
// https://github.com/containernetworking/cni/blob/main/libcni/conf.go (ConfFiles)
func ValidConfName(s string) string {
	if ValidFileName(s) != "" || !slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(s)) {
		return "a file's name that ends in .conflist, .conf or .json"
	}
	return ""
}

// ValidFileName accepts the name of a file in a known directory.
func ValidFileName(s string) string {
	if s == "" || s == "." || s == ".." || strings.Contains(s, "/") || !Printable(s) {
		return "a file's name without slashes"
	}
	return ""
}

// ValidUnit accepts the name of a systemd unit.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html
func ValidUnit(s string) string {
	if s == "" || len(s) > 200 ||
		strings.Trim(strings.ToLower(s), `abcdefghijklmnopqrstuvwxyz0123456789:-_.\@`) != "" || s[0] == '.' {
		return "the name of a systemd unit such as example.service"
	}
	return ""
}

// ValidMember accepts the name of a file in an archive. It must be relative and clean, and must not
// lead out of the archive.
func ValidMember(s string) string {
	if s == "" || s == "." || path.Clean(s) != s || path.IsAbs(s) || s == ".." || strings.HasPrefix(s, "../") ||
		!Printable(s) {
		return "a file's name in the archive, such as bridge or bin/bridge"
	}
	return ""
}

// ValidSHA256 accepts a hash in the form of sha256sum.
func ValidSHA256(s string) string { return validHex(s, 64) }

// ValidSHA512 accepts a hash in the form of sha512sum.
func ValidSHA512(s string) string { return validHex(s, 128) }

func validHex(s string, digits int) string {
	switch {
	case len(s) != digits:
		return fmt.Sprintf("%d lower-case hex digits, and this is %s", digits, plural.Of(len(s), "character"))
	case strings.Trim(s, "0123456789abcdef") != "":
		return fmt.Sprintf("%d lower-case hex digits", digits)
	}
	return ""
}

// ValidURL accepts what a state store can fetch. Plain http is allowed, because a hash protects the
// content.
func ValidURL(s string) string {
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
		if u.Host == "" && u.RawQuery == "" && ValidMember(s) == "" {
			return ""
		}
	}
	return expected
}

// ValidIPv4 accepts an IPv4 address.
func ValidIPv4(s string) string {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return "an IPv4 address such as 100.64.0.88"
	}
	return ""
}

// ValidEndpoint accepts the URL of an etcd server.
func ValidEndpoint(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Scheme != "http" && u.Scheme != "https" {
		return "an etcd endpoint such as https://etcd-a.internal.example.com:2379 or https://[fd00::1]:2379"
	}
	return ""
}
