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

// PluginsAsset is the name of the reference plugins in documents and networks.
const PluginsAsset = "cni-plugins"

// Plugins is what a NodeupConfig says about the reference plugins: whether nodeup installs them,
// and what it downloads. https://github.com/kubernetes/kops/blob/master/pkg/nodemodel/fileassets.go
type Plugins struct {
	install *bool
	assets  decode.Reading
}

// Fields returns the fields from which [Plugins.Archives] decides.
func (p *Plugins) Fields() []decode.Field {
	return []decode.Field{
		{Name: "InstallCNIAssets", Set: func(v decode.Reading) {
			delete(v.Origins, v.Path) // no field of the agent's own documents
			decode.OptionalBool("InstallCNIAssets", &p.install).Set(v)
		}},
		{Name: "Assets", Set: func(v decode.Reading) {
			delete(v.Origins, v.Path)
			p.assets = v
		}},
	}
}

// PluginArchive says where the plugins' archive for one architecture is.
type PluginArchive struct {
	Arch    string
	SHA256  string
	URLs    []string // all of the same file
	Version string   // "": no URL names it
	Origin  document.Origin
}

// Archives returns the archives that kOps installs. own means that somebody else provides the
// plugins: kOps installs none, or the agent cannot download what kOps installs.
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

// pluginArchive returns the plugins' entry among nodeup's downloads for one architecture, or nil if
// there is none. kOps lists programs first, then the plugins' archive, whatever its name, then the
// runtime's archive. If kOps does not say that it installs the plugins (as up to 1.25), only the
// archive's name identifies them.
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

// mirroredAsset reads kOps' form of a download: a hash, and URLs of the same file.
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
