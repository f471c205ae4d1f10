package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// plugins installs the members that the network names of each asset that it names. It adds one
// archive task for each asset.
func (b *builder) plugins() error {
	wanted := map[string]want{}
	var names []string
	for _, p := range b.net.Plugins {
		if !p.Applies(b.view) {
			continue
		}
		if p.Asset == network.CNIPlugins && b.in.Node.OwnPlugins() {
			b.note(network.Info, "", "kOps does not install the CNI plugins on this node: those in %s stay as they are",
				b.view.BinDir)
			continue
		}
		w, seen := wanted[p.Asset]
		if !seen {
			names = append(names, p.Asset)
		}
		if p.Default {
			w.otherwise = append(w.otherwise, p.Members...)
		} else {
			w.members = append(w.members, p.Members...)
		}
		if p.Minimum != "" {
			w.minimum = p.Minimum
		}
		w.published = cmp.Or(w.published, published(p))
		wanted[p.Asset] = w
	}
	for _, name := range names {
		archive, err := b.archive(name, wanted[name])
		if err != nil {
			return fmt.Errorf("install the plugins of %s: %w", b.net.Name, err)
		}
		b.add(archive)
	}
	return nil
}

// want is what the network asks of one asset.
type want struct {
	members   []string
	otherwise []string // the members if the document lists none
	minimum   string
	published string // names the publisher of the asset for messages; "": unknown
}

func published(p network.Plugin) string {
	if p.Archive == "" {
		return ""
	}
	return fmt.Sprintf("; %s is at %s", p.Archive, p.Source)
}

func (b *builder) archive(name string, w want) (tasks.Archive, error) {
	asset, err := b.asset(name, w.published)
	if err != nil {
		return tasks.Archive{}, err
	}
	arch := b.in.Facts.Arch
	file, ok := asset.Arch[arch]
	if !ok {
		return tasks.Archive{}, fmt.Errorf("asset %s (%s) has no file for %s, only for %s: add `arch: {%s: {sha256: "+
			"…, urls: […]}}` to it under spec.assets",
			name, asset.Origin, arch, strings.Join(slices.Sorted(maps.Keys(asset.Arch)), ", "), arch)
	}
	if older(asset.Version, w.minimum) {
		return tasks.Archive{},
			fmt.Errorf("asset %s %s (%s) is older than %s, which %s needs: name a newer one under spec.assets",
				name, asset.Version, asset.Origin, w.minimum, b.net.Name)
	}
	members, err := memberNames(asset, w)
	if err != nil {
		return tasks.Archive{}, err
	}
	sum, err := archive.ParseChecksum(cmp.Or(file.SHA256, file.SHA512))
	if err != nil {
		return tasks.Archive{}, fmt.Errorf("asset %s (%s): %w", name, asset.Origin, err)
	}
	urls := make([]string, len(file.URLs))
	for i, u := range file.URLs {
		urls[i] = Mirrored(u, b.in.Node.AssetsMirror)
	}
	return tasks.Archive{
		Meta: tasks.Meta{From: asset.Origin.String(), Why: "plugins of " + b.net.Name},
		Name: strings.TrimSpace(name + " " + asset.Version), URLs: urls, Sum: sum,
		Dir: b.view.BinDir, Members: members, Mode: 0o755, Owner: "root:root", Fetch: b.in.Assets}, nil
}

// asset returns the asset of the documents or, if they name none, the one of the built-in table
// for this Kubernetes version.
func (b *builder) asset(name, published string) (extras.Asset, error) {
	for _, a := range b.in.Node.Assets {
		if a.Name == name {
			return a, nil
		}
	}
	v := b.in.Node.KubernetesVersion
	release := releaseFor(name, v)
	if release == nil {
		return extras.Asset{}, fmt.Errorf("no asset %s is known for Kubernetes %s (%s): name it under spec.assets, "+
			"with version, sha256 and urls%s", name, v, b.view.NetworkOrigin(), published)
	}
	out := extras.Asset{Name: name, Version: release.Version, Arch: map[string]extras.AssetFile{},
		Origin: document.Origin{Default: "built-in table for Kubernetes " + v.String()}}
	for arch, sum := range release.SHA256 {
		out.Arch[arch] = extras.AssetFile{SHA256: sum, URLs: []string{release.url(name, arch)}}
	}
	return out, nil
}

// memberNames returns the members to install: the document's list, which must contain all that the
// network names, or else the network's own list.
func memberNames(asset extras.Asset, w want) ([]string, error) {
	members := slices.Concat(w.members, w.otherwise)
	if len(asset.Members) > 0 {
		for _, n := range w.members {
			if !slices.Contains(asset.Members, n) {
				return nil, fmt.Errorf("asset %s (%s) lists members without %s, which the network needs: add it, or "+
					"leave members out", asset.Name, asset.Origin, n)
			}
		}
		members = slices.Clone(asset.Members)
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}

// older compares versions such as v0.9.1. A version that cannot be parsed (a custom build) is not
// older.
func older(version, minimum string) bool {
	v, err := values.ParseVersion(version)
	least, err2 := values.ParseVersion(minimum)
	return err == nil && err2 == nil && v.Before(least)
}

// Mirrored replaces scheme and host of an asset's URL by the mirror. It does not change the URL of
// a file that is in the store, on a disk or at the mirror already. A mirror in the store has files
// by their paths, without queries.
func Mirrored(raw, mirror string) string {
	u, err := url.Parse(raw)
	if err != nil || mirror == "" || strings.HasPrefix(raw, strings.TrimSuffix(mirror, "/")+"/") ||
		u.Scheme != "http" && u.Scheme != "https" {
		return raw
	}
	out := strings.TrimSuffix(mirror, "/") + u.EscapedPath()
	if u.RawQuery != "" && mirror != extras.StoreMirror {
		out += "?" + u.RawQuery
	}
	return out
}

// pluginKeys returns the keys of the archive's members.
func pluginKeys(a tasks.Archive) []graph.Key {
	out := make([]graph.Key, len(a.Members))
	for i, m := range a.Members {
		out[i] = tasks.FileKey(path.Join(a.Dir, m))
	}
	return out
}
