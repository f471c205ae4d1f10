// Package extras has what documents want on a node besides its network: files, hooks, downloads,
// sysctls and certificates. It also has the rule about what no document may write or switch.
package extras

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Assets reads spec.assets of the agent's own documents.
func Assets(to *[]Asset) decode.Field {
	return decode.Field{Name: "assets", Set: func(v decode.Reading) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(a Asset) string { return a.Name })
		v.List(func(item decode.Reading) {
			a := Asset{Arch: make(map[string]AssetFile), Origin: item.Origin()}
			item.Mapping([]decode.Field{
				decode.Text("name", &a.Name, decode.ValidName),
				decode.Text("version", &a.Version, nil),
				decode.Texts("members", &a.Members, decode.ValidMember),
				decode.Into("arch", func() []decode.Field {
					return []decode.Field{
						assetFile(a.Arch, "amd64").About("Sets the download for x86-64"),
						assetFile(a.Arch, "arm64").About("Sets the download for 64-bit ARM"),
					}
				}),
			})
			if !item.Required("name", "arch") ||
				!item.Field("name").Unique(seen, item.Get("name").Str()) {
				return
			}
			item.Origins[fmt.Sprintf("%s[%s]", v.Path, a.Name)] = a.Origin
			put(a)
		})
	}}
}

func assetFile(to map[string]AssetFile, arch string) decode.Field {
	return decode.Field{Name: arch, Set: func(v decode.Reading) {
		var f AssetFile
		v.Mapping([]decode.Field{
			decode.Text("sha256", &f.SHA256, decode.ValidSHA256),
			decode.Text("sha512", &f.SHA512, decode.ValidSHA512),
			decode.Texts("urls", &f.URLs, decode.ValidURL),
		})
		if hashed(v) && v.Required("urls") && len(f.URLs) == 0 {
			v.Field("urls").Bad("at least one URL", "")
		}
		to[arch] = f
	}}
}

// hashed reports an error for an asset's file that has no hash or two.
func hashed(v decode.Reading) bool {
	if v.Kind != document.KindMap {
		return false // reported already
	}
	sha256, sha512 := v.Index("sha256") >= 0, v.Index("sha512") >= 0
	switch {
	case !sha256 && !sha512:
		v.Error(document.Diagnostic{
			ID: problem.FieldMissing, Summary: v.Path + ".sha256 is missing", Field: v.Path + ".sha256",
			Expected: "sha256 or sha512, as the publisher of the file gives it",
		})
	case sha256 && sha512:
		v.Field("sha512").Bad("one hash, sha256 or sha512, and there is a sha256 too",
			"leave one of them out")
	}
	return sha256 != sha512
}

// StoreMirror is the value for the store itself as the mirror: the directory of a cluster that
// `agent store vendor` fills.
const StoreMirror = "assets"

// ValidMirror accepts the place of a mirror that has all files.
func ValidMirror(s string) string {
	if s == StoreMirror {
		return ""
	}
	u, err := url.Parse(s)
	if err == nil && u.User != nil {
		return "a URL without a user and password"
	}
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "s3" {
		return "the base URL of a mirror such as https://mirror.example.com/netwright, or " + StoreMirror +
			" for the store itself"
	}
	return ""
}

// Asset is a download that a network may name, with the hash that it must have.
type Asset struct {
	// Name: Sets the name by which networks ask for the asset: cni-plugins, multus, azure-vnet and
	// others. Each name has one entry.
	Name string `json:"name"`
	// Version: Sets the version of the download, such as v1.9.1. A network that needs a newer
	// version refuses it.
	Version string `json:"version,omitempty"`
	// Members: Lists the files of the archive that are installed. Without it, the agent installs
	// the files that the network names.
	Members []string `json:"members,omitempty"`
	// Arch: Sets the download for each architecture. A node reports an error if its architecture is
	// missing.
	Arch   map[string]AssetFile `json:"arch"`
	Origin document.Origin      `json:"origin"`
}

// AssetFile is an asset for one architecture.
type AssetFile struct {
	// SHA256: Sets the sha256 of the downloaded file: 64 lower-case hex digits. Set either sha256
	// or sha512.
	SHA256 string `json:"sha256,omitempty"`
	// SHA512: Sets the sha512 of the downloaded file: 128 lower-case hex digits. Set either sha256
	// or sha512.
	SHA512 string `json:"sha512,omitempty"`
	// URLs: Lists the URLs of the file, which the agent tries in order. A path without a scheme is
	// relative to the store.
	URLs []string `json:"urls"`
}

// shown returns the file without the credentials in its URLs.
func (f AssetFile) shown() AssetFile {
	f.URLs = slices.Clone(f.URLs)
	for i, u := range f.URLs {
		f.URLs[i] = document.MaskURLs(u)
	}
	return f
}

// MarshalJSON leaves out the credentials in the URLs.
func (f AssetFile) MarshalJSON() ([]byte, error) {
	type plain AssetFile
	return json.Marshal(plain(f.shown()))
}

// Format implements [fmt.Formatter]. For every verb it leaves out the credentials in the URLs.
func (f AssetFile) Format(s fmt.State, _ rune) {
	shown := f.shown()
	fmt.Fprintf(s, "{%s %s}", shown.SHA256, shown.URLs)
}
