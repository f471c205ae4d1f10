package kops

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// PluginsAsset is what documents and networks call the reference plugins.
const PluginsAsset = "cni-plugins"

// Plugins are what a NodeupConfig says of the reference plugins: whether nodeup installs them,
// and what it downloads. https://github.com/kubernetes/kops/blob/master/pkg/nodemodel/fileassets.go
type Plugins struct {
	install *bool
	assets  decode.Reading
}

// Fields read what [Plugins.Archives] then decides by.
func (p *Plugins) Fields() []decode.Field {
	return []decode.Field{
		{Name: "InstallCNIAssets", Set: func(v decode.Reading) {
			delete(v.Origins, v.Path) // no field of ours
			decode.OptionalBool("InstallCNIAssets", &p.install).Set(v)
		}},
		{Name: "Assets", Set: func(v decode.Reading) {
			delete(v.Origins, v.Path)
			p.assets = v
		}},
	}
}

// PluginArchive is where the plugins' archive for one architecture is.
type PluginArchive struct {
	Arch    string
	SHA256  string
	URLs    []string // of the same file
	Version string   // "" where no URL names it
	Origin  document.Origin
}

// Archives are those that kOps installs. Own reports whether the plugins are somebody else's: kOps
// installs none, or what it installs cannot be fetched from here.
func (p *Plugins) Archives() (all []PluginArchive, own bool) {
	switch {
	case p.install != nil && !*p.install:
		return nil, true
	case p.assets.Value == nil:
		return nil, false
	}
	for i := range p.assets.Entries {
		arch := p.assets.Entries[i].Key
		entry := p.assets.At(pluginArchive(p.assets.Entries[i].Value, p.install != nil), p.assets.Path)
		if entry.Value == nil {
			continue
		}
		archive, ok := mirroredAsset(entry.Text)
		if !ok {
			entry.Warn(document.Diagnostic{Summary: fmt.Sprintf("the CNI plugins that kOps installs on %s cannot be "+
				"fetched from here: they are left as they are", arch),
				Expected: "SHA256@URL, with a URL of https, http or s3"})
			return nil, true
		}
		archive.Arch, archive.Origin = arch, entry.Origin()
		archive.Version = releaseName().FindString(archive.URLs[0])
		all = append(all, archive)
	}
	return all, false
}

// pluginArchive is the plugins' entry among what nodeup downloads for one architecture; nil: there
// is none. kOps lists programs first, then the archive of the plugins, whatever it is called, then
// the runtime's. Where it does not say that it installs them (to 1.25, or as it does not), only
// their name says.
func pluginArchive(list *document.Value, installs bool) *document.Value {
	for _, entry := range list.Items {
		file := path.Base(strings.ToLower(entry.Str()))
		archive := strings.HasSuffix(file, ".tgz") || strings.HasSuffix(file, ".tar.gz")
		if archive && (installs || strings.HasPrefix(file, PluginsAsset)) {
			return entry
		}
	}
	return nil
}

// mirroredAsset reads kOps' form of a download: its hash, and URLs of the same file.
func mirroredAsset(text string) (PluginArchive, bool) {
	hash, urls, _ := strings.Cut(text, "@")
	file := PluginArchive{SHA256: hash, URLs: strings.Split(urls, ",")}
	good := decode.ValidSHA256(hash) == "" &&
		!slices.ContainsFunc(file.URLs,
			func(u string) bool { return !strings.Contains(u, "://") || decode.ValidURL(u) != "" })
	return file, good
}

// releaseName finds the version in the URL of a download.
var releaseName = lazyregexp.New(`v[0-9]+\.[0-9]+\.[0-9]+`)
