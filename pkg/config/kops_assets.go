package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// cniPlugins is what documents and networks call the reference plugins.
const cniPlugins = "cni-plugins"

// kopsPlugins are what a NodeupConfig says of the reference plugins: whether nodeup installs them,
// and what it downloads. https://github.com/kubernetes/kops/blob/master/pkg/nodemodel/fileassets.go
type kopsPlugins struct {
	install *bool
	assets  *document.Value
	at      string
}

// kopsPluginFields read what [decoder.setKopsPlugins] then decides by.
func kopsPluginFields(p *kopsPlugins) []decode.Field {
	return []decode.Field{
		{Name: "InstallCNIAssets", Set: func(d *decode.Decoder, v *document.Value, at string) {
			delete(d.Origins, at) // no field of ours
			decode.OptionalBool(&p.install)(d, v, at)
		}},
		{Name: "Assets", Set: func(d *decode.Decoder, v *document.Value, at string) {
			delete(d.Origins, at)
			p.assets, p.at = v, at
		}},
	}
}

// setKopsPlugins takes over which plugins kOps installs, by its own hash and from its own URLs:
// they may be the user's (CNI_VERSION_URL), and the mirror's. An asset that a document of ours
// names comes first.
func setKopsPlugins(d *decode.Decoder, p *kopsPlugins, n *Node) {
	switch {
	case slices.ContainsFunc(n.Assets, func(a Asset) bool { return a.Name == cniPlugins }):
		return
	case p.install != nil && !*p.install:
		n.kops.ownPlugins = true
		return
	case p.assets == nil:
		return
	}
	asset := Asset{Name: cniPlugins, Arch: map[string]AssetFile{}, Origin: d.Doc.Origin(p.assets.Pos)}
	for i := range p.assets.Entries {
		arch := p.assets.Entries[i].Key
		entry := pluginArchive(p.assets.Entries[i].Value, p.install != nil)
		if entry == nil {
			continue
		}
		file, ok := mirroredAsset(entry.Text)
		if !ok {
			d.Doc.WarnAt(entry.Pos, document.Diagnostic{Summary: fmt.Sprintf("the CNI plugins that kOps installs on %s cannot be fetched from here: they are left as they are", arch), Field: p.at,
				Expected: "SHA256@URL, with a URL of https, http or s3"})
			n.kops.ownPlugins = true
			return
		}
		asset.Arch[arch], asset.Origin = file, d.Doc.Origin(entry.Pos)
		asset.Version = releaseName.FindString(file.URLs[0])
	}
	if len(asset.Arch) > 0 {
		n.Assets = append(n.Assets, asset)
		d.Origins[fmt.Sprintf("spec.assets[%s]", asset.Name)] = asset.Origin
	}
}

// pluginArchive is the plugins' entry among what nodeup downloads for one architecture; nil: there
// is none. kOps lists programs first, then the archive of the plugins, whatever it is called, then
// the runtime's. Where it does not say that it installs them (to 1.25, or as it does not), only
// their name tells.
func pluginArchive(list *document.Value, installs bool) *document.Value {
	for _, entry := range list.Items {
		file := path.Base(strings.ToLower(entry.Str()))
		archive := strings.HasSuffix(file, ".tgz") || strings.HasSuffix(file, ".tar.gz")
		if archive && (installs || strings.HasPrefix(file, cniPlugins)) {
			return entry
		}
	}
	return nil
}

// mirroredAsset reads kOps' form of a download: its hash, and URLs of the same file.
func mirroredAsset(text string) (AssetFile, bool) {
	hash, urls, _ := strings.Cut(text, "@")
	file := AssetFile{SHA256: hash, URLs: strings.Split(urls, ",")}
	good := decode.ValidSHA256(hash) == "" && !slices.ContainsFunc(file.URLs, func(u string) bool { return !strings.Contains(u, "://") || decode.ValidURL(u) != "" })
	return file, good
}

// releaseName finds the version in the URL of a download.
var releaseName = regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+`)
