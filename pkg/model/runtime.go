package model

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// These are the units of the runtimes and our drop-in for CRI-O.
const (
	containerdUnit = "containerd.service"
	crioUnit       = "crio.service"
	crioDropInDir  = "/etc/crio/crio.conf.d"
)

// runtimePlugin is the plugin of containerd with the CNI settings in files of version 3 and up.
const runtimePlugin = "io.containerd.cri.v1.runtime"

// runtimeSetting is one CNI setting of the container runtime.
type runtimeSetting struct {
	key    string // the key in containerd's configuration
	crio   string // the key in CRI-O's configuration; "": CRI-O has none
	value  any    // a string or a []string
	origin string
}

// runtime sets the CNI settings of the runtime that a document asks for. Where no document has a
// value, the agent follows the runtime's own settings (see view), so most nodes need no change. A
// wanted value is written although the runtime has it already: the runtime may have it only
// because an earlier pass wrote it, and removing that file would undo it.
func (b *builder) runtime() error {
	settings := b.runtimeSettings()
	if len(settings) == 0 || b.view.DockerKubelet() {
		return nil
	}
	rt := b.in.Facts.Runtime
	if rt.Name == "docker" && rt.ConfDir != "" {
		if b.view.ConfDir != rt.ConfDir || !slices.Contains(rt.BinDirs, b.view.BinDir) {
			b.note(network.Warning, settings[0].origin, "cri-dockerd takes its CNI directories from its command "+
				"line, which the agent does not change: give its unit --cni-conf-dir=%s --cni-bin-dir=%s", b.view.ConfDir, b.view.BinDir)
		}
		return nil
	}
	switch rt.Name {
	case "containerd":
		return b.containerd(rt, settings)
	case "cri-o":
		b.crio(rt, settings)
	default:
		b.note(network.Warning, settings[0].origin,
			"no container runtime with CRI is known here yet, so no CNI settings of a runtime were changed: the runtime "+
				"needs %s",
			settingsText(settings))
	}
	return nil
}

func (b *builder) runtimeSettings() []runtimeSetting {
	var out []runtimeSetting
	if !byDefault(b.in.Node, confDirPath) {
		out = append(out, runtimeSetting{"conf_dir", "network_dir", b.in.Node.CNI.ConfDir, b.view.Origin(confDirPath)})
	}
	if !byDefault(b.in.Node, binDirPath) {
		out = append(out, binDirSetting(b.in.Facts.Runtime, b.view.BinDir, b.view.Origin(binDirPath)))
	}
	if t := b.built.ConfTemplate; t != "" {
		out = append(out, runtimeSetting{"conf_template", "", t, b.view.NetworkOrigin()})
	}
	return out
}

// binDirSetting puts a directory before the plugin directories of the runtime.
func binDirSetting(rt host.RuntimeFacts, dir, origin string) runtimeSetting {
	if !listsBinDirs(rt) {
		return runtimeSetting{"bin_dir", "", dir, origin}
	}
	others := slices.DeleteFunc(slices.Clone(othersDirs(rt).BinDirs), func(d string) bool { return d == dir })
	dirs := append([]string{dir}, others...)
	return runtimeSetting{"bin_dirs", "plugin_dirs", dirs, origin}
}

// listsBinDirs reports whether the runtime takes several plugin directories: CRI-O does, and
// containerd from 2.1 on. containerd disables its CRI service if it finds bin_dir beside bin_dirs,
// so the key that its files already have is kept. containerd 2.4 ignores bin_dir, except in files
// of version 1.x, which it migrates.
// https://github.com/containerd/containerd/blob/main/docs/cri/config.md
// https://github.com/containerd/containerd/blob/v2.4.2/plugins/cri/runtime/plugin.go
// (migrateConfig)
func listsBinDirs(rt host.RuntimeFacts) bool {
	release := release(rt)
	switch {
	case rt.Name != "containerd":
		return rt.Name == "cri-o"
	case rt.ConfigVersion >= 3 && release.AtLeast(2, 4):
		return true
	case rt.Version != "" && !release.AtLeast(2, 1):
		return false // it ignores bin_dirs
	case rt.BinDirKey != "":
		return rt.BinDirKey == "bin_dirs"
	}
	return rt.ConfigVersion >= 4 || release.AtLeast(2, 1)
}

// containerd writes a file of ours where containerd's imports merge (2.x with an imports pattern).
// Otherwise it edits keys in containerd's own file and keeps every other byte. Only the imports of
// the file itself count: `containerd config dump` shows /etc/containerd/conf.d/*.toml (2.2)
// although containerd reads nothing from there.
func (b *builder) containerd(rt host.RuntimeFacts, settings []runtimeSetting) error {
	table := []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}
	switch {
	case rt.ConfigVersion >= 3:
		table[1] = runtimePlugin
	case rt.ConfigVersion == 1 && release(rt).AtLeast(2, 0) && !release(rt).AtLeast(2, 3): // 2.3 migrates each file
		return fmt.Errorf("tell containerd %s: %s says no version, and containerd %s ignores the CNI settings of "+
			"such a file, in `containerd config migrate` too: give it `version = 2`, and name its table plugins.cri "+
			"plugins.\"io.containerd.grpc.v1.cri\"", settingsText(settings), rt.ConfigFile, rt.Version)
	case rt.NewerImport != "" && rt.Version != "" && !release(rt).AtLeast(2, 3):
		return fmt.Errorf("tell containerd %s: %s has a newer version than %s, and containerd %s reads all files as "+
			"that version: it ignores the CNI settings of %[3]s: take its imports out, convert it with `containerd "+
			"config migrate`, and import again", settingsText(settings), rt.NewerImport, rt.ConfigFile, rt.Version)
	case rt.ConfigVersion == 1: // a file without a version: containerd ignores the long names in it
		table[1] = "cri"
	}
	if dir := importDir(rt); dir != "" {
		own := path.Join(dir, facts.OwnTOML)
		for _, s := range settings {
			b.noteOverruled(rt, own, s.key, s.value)
		}
		b.add(tasks.File{Meta: b.runtimeMeta(settings[0], containerdUnit), Path: own,
			Mode: 0o644,
			Content: []byte(fmt.Sprintf("%sversion = %d\n\n[plugins.'%s'.cni]\n%s", header, rt.ConfigVersion, table[1],
				tomlLines(settings, false)))})
		// If our file and containerd's own had different versions, containerd would not migrate or
		// not read one of them (containerd#12891).
		return nil
	}
	main := cmp.Or(rt.ConfigFile, b.in.Node.Containerd.ConfigPath)
	for _, s := range settings {
		// If another file sets the key again, or in 1.x has its section, only the value in that
		// file counts.
		files := []string{main}
		if by := rt.SetBy[s.key]; by != "" && path.Base(by) != facts.OwnTOML { // ours is removed
			files[0] = by
		}
		if files[0] != main && slices.ContainsFunc(rt.Imports, importedFromRoot) {
			files = append(files, main)
		}
		for _, file := range files {
			table, key, value := table, s.key, s.value
			if other := rt.OtherTables[file]; other != "" { // containerd reads each file as its own version
				table = []string{table[0], other, table[2]}
				if dirs, several := value.([]string); several && other != runtimePlugin {
					key, value = "bin_dir", dirs[0]
				}
			}
			b.add(tasks.TOMLKey{Meta: b.runtimeMeta(s, containerdUnit), Path: file, Table: table, Key: key, Value: value,
				Make: fmt.Sprintf("mkdir -p %s && containerd config default > %s", path.Dir(file), file)})
		}
	}
	return nil
}

// importedFromRoot reports whether containerd 1.6.20 and 1.7.0 look for an import pattern below /,
// the directory in which systemd starts them. Later releases resolve it from the directory of the
// importing file.
func importedFromRoot(pattern string) bool {
	return !path.IsAbs(pattern) && strings.Contains(pattern, "*")
}

// noteOverruled warns if something may overrule a setting of our drop-in: everything that is not
// known to be read before it, such as the runtime's command line.
func (b *builder) noteOverruled(rt host.RuntimeFacts, own, key string, value any) {
	is := map[string]any{"conf_dir": rt.ConfDir, "network_dir": rt.ConfDir, "conf_template": rt.ConfTemplate}[key]
	if is == nil { // one plugin directory, or several
		is = rt.BinDirs
		if _, one := value.(string); one {
			value = []string{value.(string)}
		}
	}
	by := rt.SetBy[key]
	if by != "" && by != own && !comesBefore(rt, by, own) && fmt.Sprint(is) != fmt.Sprint(value) {
		b.note(network.Warning, by, "it sets %s and wins over our %s: take it out there, or write %s", key, own,
			tomlValue(value))
	}
}

// readsOtherConfs reports whether the runtime reads another directory of confs than the wanted one,
// and goes on with that beside our drop-in: its command line, or a file of the drop-in's directory
// that sorts after ours, has the last word.
func readsOtherConfs(rt host.RuntimeFacts, wanted string) bool {
	own, by := crioDropIn(rt), rt.SetBy["network_dir"]
	if dir := importDir(rt); rt.Name == "containerd" && dir != "" {
		own, by = path.Join(dir, facts.OwnTOML), rt.SetBy["conf_dir"]
	}
	last := strings.HasPrefix(by, path.Dir(own)+"/") && by > own || by != "" && !path.IsAbs(by)
	return last && rt.ConfDir != "" && rt.ConfDir != wanted
}

// comesBefore reports whether a runtime reads one file before another. That holds if the file
// sorts first in the same directory, or if an earlier pattern of the imports matches it.
func comesBefore(rt host.RuntimeFacts, file, other string) bool {
	if strings.HasPrefix(file, path.Dir(other)+"/") {
		return file < other
	}
	for _, pattern := range rt.Imports {
		if !path.IsAbs(pattern) {
			pattern = path.Join(path.Dir(rt.ConfigFile), pattern)
		}
		if has, _ := path.Match(pattern, other); has {
			return false
		}
		if has, _ := path.Match(pattern, file); has {
			return true
		}
	}
	return false
}

// release returns the runtime's version. It is zero if the runtime is not running or reports none.
func release(rt host.RuntimeFacts) values.Version {
	upstream, _, _ := strings.Cut(rt.Version, "~") // the version of Debian's package is 2.1.4~ds2
	v, err := values.ParseVersion(upstream)
	if err != nil {
		return values.Version{}
	}
	return v
}

// importDir returns the directory from which containerd imports a file of ours. It returns ""
// unless imported files merge key by key (containerd 2.x); 1.x replaces whole sections.
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

// crioDropIn returns the path of our drop-in for CRI-O.
func crioDropIn(rt host.RuntimeFacts) string {
	return path.Join(cmp.Or(rt.DropInDir, crioDropInDir), facts.OwnDropIn)
}

// crio adds our drop-in. CRI-O reads every file in its drop-in directory and merges them key by
// key (crio.conf.d(5)).
func (b *builder) crio(rt host.RuntimeFacts, settings []runtimeSetting) {
	own := crioDropIn(rt)
	for _, s := range settings {
		b.noteOverruled(rt, own, s.crio, s.value)
	}
	b.add(tasks.File{Meta: b.runtimeMeta(settings[0], crioUnit), Path: own, Mode: 0o644,
		Content: []byte(header + "[crio.network]\n" + tomlLines(settings, true))})
}

func (b *builder) runtimeMeta(s runtimeSetting, unit string) tasks.Meta {
	m := tasks.Meta{From: s.origin, Why: "the runtime's CNI settings"}
	// Without this CRI-O would create a missing directory with its own mode.
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
