package model

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// Names of the runtimes' units and of our drop-in.
const (
	containerdUnit = "containerd.service"
	crioUnit       = "crio.service"
	runtimeDropIn  = "50-netwright"
	crioDropInDir  = "/etc/crio/crio.conf.d"
)

// runtimeSetting is one CNI setting of the runtime.
type runtimeSetting struct {
	key    string // containerd's name
	crio   string // CRI-O's name; "": it has none
	value  any    // string or []string
	origin string
}

// runtime tells the runtime what a document asks of it. Where no document speaks its own settings
// are followed (see view), so on most nodes there is nothing to tell. What is asked is told
// although the runtime does it already: it may do it because we told it, and to stop would undo it.
func (b *builder) runtime() error {
	settings := b.runtimeSettings()
	if len(settings) == 0 || b.view.DockerKubelet() {
		return nil
	}
	rt := b.in.Facts.Runtime
	switch rt.Name {
	case "containerd":
		return b.containerd(rt, settings)
	case "cri-o":
		b.crio(settings)
	default:
		b.note(network.Warning, settings[0].origin,
			"no container runtime is known here yet, so its CNI settings were not touched: it needs %s",
			settingsText(settings))
	}
	return nil
}

func (b *builder) runtimeSettings() []runtimeSetting {
	var out []runtimeSetting
	if !byDefault(b.in.Node, confDirPath) {
		out = append(out, runtimeSetting{"conf_dir", "network_dir", b.view.ConfDir, b.view.Origin(confDirPath)})
	}
	if !byDefault(b.in.Node, binDirPath) {
		out = append(out, binDirSetting(b.in.Facts.Runtime, b.view.BinDir, b.view.Origin(binDirPath)))
	}
	if t := b.built.ConfTemplate; t != "" {
		out = append(out, runtimeSetting{"conf_template", "", t, b.view.NetworkOrigin()})
	}
	return out
}

// binDirSetting puts a directory before those that the runtime has.
func binDirSetting(rt host.RuntimeFacts, dir, origin string) runtimeSetting {
	if !listsBinDirs(rt) {
		return runtimeSetting{"bin_dir", "", dir, origin}
	}
	others := slices.DeleteFunc(slices.Clone(rt.BinDirs), func(d string) bool { return d == dir })
	dirs := append([]string{dir}, others...)
	return runtimeSetting{"bin_dirs", "plugin_dirs", dirs, origin}
}

// listsBinDirs tells that the runtime takes several directories of plugins: CRI-O, and containerd
// from 2.1 on. containerd serves no CRI where it finds bin_dir beside bin_dirs, so the key that its
// files have already is kept. https://github.com/containerd/containerd/blob/main/docs/cri/config.md
func listsBinDirs(rt host.RuntimeFacts) bool {
	if rt.BinDirKey != "" {
		return rt.BinDirKey == "bin_dirs"
	}
	return rt.Name == "cri-o" || rt.Name == "containerd" && release(rt).AtLeast(2, 1)
}

// containerd gets a file of ours where its imports merge (2.x with an imports pattern), else keys
// in its own file, with every other byte kept. Only what the file itself imports counts:
// `containerd config dump` shows /etc/containerd/conf.d/*.toml (2.2) although nothing is read from
// there.
func (b *builder) containerd(rt host.RuntimeFacts, settings []runtimeSetting) error {
	table := []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}
	switch {
	case rt.ConfigVersion >= 3:
		table[1] = "io.containerd.cri.v1.runtime"
	case rt.ConfigVersion == 1 && release(rt).AtLeast(2, 0):
		return fmt.Errorf("tell containerd %s: %s says no version, and containerd %s passes over the CNI settings of "+
			"such a file: write it anew with `containerd config migrate`",
			settingsText(settings), rt.ConfigFile, rt.Version)
	case rt.ConfigVersion == 1: // a file without a version: the long names mean nothing in it
		table[1] = "cri"
	}
	if dir := importDir(rt); dir != "" {
		b.add(tasks.File{Meta: b.runtimeMeta(settings[0], containerdUnit), Path: path.Join(dir, runtimeDropIn+".toml"),
			Mode: 0o644,
			Content: []byte(fmt.Sprintf("%sversion = %d\n\n[plugins.'%s'.cni]\n%s", header, rt.ConfigVersion, table[1],
				tomlLines(settings, false)))})
		// with another version than the file's, one of the two would not be migrated, or not be
		// read (containerd#12891)
		return nil
	}
	file := rt.ConfigFile
	file = cmp.Or(file, b.in.Node.Containerd.ConfigPath)
	for _, s := range settings {
		b.add(tasks.TOMLKey{Meta: b.runtimeMeta(s, containerdUnit), Path: file, Table: table, Key: s.key,
			Value: s.value,
			Make:  fmt.Sprintf("mkdir -p %s && containerd config default > %s", path.Dir(file), file)})
	}
	return nil
}

// release is the runtime's, zero where it is not known: it said none, or is not running.
func release(rt host.RuntimeFacts) values.Version {
	upstream, _, _ := strings.Cut(rt.Version, "~") // Debian's 2.1.4~ds2
	v, err := values.ParseVersion(upstream)
	if err != nil {
		return values.Version{}
	}
	return v
}

// importDir is where a file of ours is imported from: only where imported files merge key by key
// (containerd 2.x; 1.x replaces whole sections).
func importDir(rt host.RuntimeFacts) string {
	if rt.ConfigVersion < 3 {
		return ""
	}
	for _, pattern := range rt.Imports {
		if path.IsAbs(pattern) && path.Base(pattern) == "*.toml" && !strings.ContainsAny(path.Dir(pattern), "*?[") {
			return path.Dir(pattern)
		}
	}
	return ""
}

// crio reads every file in its drop-in directory and merges them key by key (crio.conf.d(5)).
func (b *builder) crio(settings []runtimeSetting) {
	b.add(tasks.File{Meta: b.runtimeMeta(settings[0], crioUnit), Path: path.Join(crioDropInDir, runtimeDropIn+".conf"),
		Mode:    0o644,
		Content: []byte(header + "[crio.network]\n" + tomlLines(settings, true))})
}

func (b *builder) runtimeMeta(s runtimeSetting, unit string) tasks.Meta {
	m := tasks.Meta{From: s.origin, Why: "the runtime's CNI settings"}
	// the runtime makes a missing one with its own mode
	m.Requires = append(m.Requires, tasks.FileKey(b.view.ConfDir), tasks.FileKey(b.view.BinDir))
	if b.built.ConfTemplate != "" {
		m.Requires = append(m.Requires, tasks.FileKey(b.built.ConfTemplate))
	}
	m.Effects = append(m.Effects, tasks.Restart(unit))
	return m
}

func tomlLines(settings []runtimeSetting, crio bool) string {
	var text strings.Builder
	for _, s := range settings {
		key := s.key
		if crio {
			key = s.crio
		}
		if key != "" {
			fmt.Fprintf(&text, "%s = %s\n", key, tomlValue(s.value))
		}
	}
	return text.String()
}

func tomlValue(v any) string {
	list, ok := v.([]string)
	if !ok {
		return fmt.Sprintf("%q", v)
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func settingsText(settings []runtimeSetting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = s.key + " = " + tomlValue(s.value)
	}
	return strings.Join(words, ", ")
}
