package config

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

func assetList(n *Node) set {
	return func(d *decoder, v *document.Value, at string) {
		seen := make(keys)
		put := merging(&n.Assets, func(a Asset) string { return a.Name })
		List(func(d *decoder, v *document.Value, item string) {
			a := Asset{Arch: make(map[string]AssetFile), Origin: d.doc.Origin(v.Pos)}
			d.mapping(v, item, []field{
				{name: "name", set: Text(&a.Name, validName)},
				{name: "version", set: Text(&a.Version, nil)},
				{name: "members", set: Texts(&a.Members, validMember)},
				{name: "arch", set: Into(func() []field {
					return []field{
						{name: "amd64", set: assetFile(a.Arch, "amd64"), about: "of x86-64"},
						{name: "arm64", set: assetFile(a.Arch, "arm64"), about: "of 64-bit ARM"},
					}
				})},
			})
			if !d.required(v, item, "name", "arch") || !d.unique(seen, v.Get("name").Str(), v.Get("name").Pos, item+".name") {
				return
			}
			d.origins[fmt.Sprintf("%s[%s]", at, a.Name)] = a.Origin
			put(a)
		})(d, v, at)
	}
}

func assetFile(to map[string]AssetFile, arch string) set {
	return func(d *decoder, v *document.Value, at string) {
		var f AssetFile
		d.mapping(v, at, []field{
			{name: "sha256", set: Text(&f.SHA256, validSHA256)}, {name: "sha512", set: Text(&f.SHA512, validSHA512)}, {name: "urls", set: Texts(&f.URLs, validURL)},
		})
		if d.hashed(v, at) && d.required(v, at, "urls") && len(f.URLs) == 0 {
			d.bad(v.Get("urls"), at+".urls", "at least one URL", "")
		}
		to[arch] = f
	}
}

// hashed reports a file of an asset that says no hash, or two.
func (d *decoder) hashed(v *document.Value, at string) bool {
	if v.Kind != document.KindMap {
		return false // said already
	}
	sha256, sha512 := v.Index("sha256") >= 0, v.Index("sha512") >= 0
	switch {
	case !sha256 && !sha512:
		d.doc.ErrorAt(v.Pos, document.Diagnostic{
			ID: problem.FieldMissing, Summary: at + ".sha256 is missing", Field: at + ".sha256", Expected: "sha256 or sha512, as the publisher of the file gives it",
		})
	case sha256 && sha512:
		d.bad(v.Get("sha512"), at+".sha512", "one hash, sha256 or sha512, and there is a sha256 too", "leave one of them out")
	}
	return sha256 != sha512
}

func validSHA256(s string) string { return validHex(s, 64) }

func validSHA512(s string) string { return validHex(s, 128) }

func validHex(s string, digits int) string {
	switch {
	case len(s) != digits:
		return fmt.Sprintf("%d lower-case hex digits, and this is %d characters", digits, len(s))
	case strings.Trim(s, "0123456789abcdef") != "":
		return fmt.Sprintf("%d lower-case hex digits", digits)
	}
	return ""
}

// validMember accepts the name of a file in an archive: relative, clean, not leaving the archive.
func validMember(s string) string {
	if s == "" || s == "." || path.Clean(s) != s || path.IsAbs(s) || s == ".." || strings.HasPrefix(s, "../") || !printable(s) {
		return "a file's name in the archive, such as bridge or bin/bridge"
	}
	return ""
}

// validURL accepts what a state store can fetch. A hash guards the content, so plain http is
// allowed.
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
