package config

import (
	"fmt"
	"net/url"

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
		if hashed(d, v, at) && d.required(v, at, "urls") && len(f.URLs) == 0 {
			d.bad(v.Get("urls"), at+".urls", "at least one URL", "")
		}
		to[arch] = f
	}
}

// hashed reports a file of an asset that says no hash, or two.
func hashed(d *decoder, v *document.Value, at string) bool {
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
