package facts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// criPlugins are the plugins without any one of which containerd serves no CRI: by its name in
// version 1 of the file, in 1.x, and the further two since 2.0.
var criPlugins = []string{
	"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images",
}

// containerdFile reads containerd's own file and its imports (containerd-config.toml(5)).
func (g gatherer) containerdFile(rt *RuntimeFacts, command unitCommand) {
	rt.BinDirs, rt.ConfDir, rt.MaxConfNum, rt.From = []string{defaultCNIBin}, defaultCNIConf, 1, "default"
	rt.SetBy, rt.OtherTables, rt.BinDirKey = nil, nil, ""
	files := g.containerdFiles(rt.ConfigFile)
	if len(files) == 0 {
		rt.ConfigFile = ""
		return
	}
	if files[0].tables == nil {
		return // unreadable: a problem was recorded
	}
	rt.ConfigVersion = max(1, number64(files[0].tables["version"]))
	rt.Imports = texts(files[0].tables["imports"])
	rt.From = rt.ConfigFile
	settings, socket := map[string]any{}, ""
	replaces := len(files) > 1 && g.replacesSections(rt, command)
	for _, f := range files {
		for _, plugin := range texts(f.tables["disabled_plugins"]) {
			if slices.Contains(criPlugins, plugin) {
				rt.CRIDisabled, rt.CRIDisabledBy = true, append(rt.CRIDisabledBy, plugin+" in "+f.name)
			}
		}
		if number64(f.tables["version"]) > rt.ConfigVersion && path.Base(f.name) != OwnTOML {
			rt.NewerImport = f.name
		}
		socket = cmp.Or(containerdAddress(f.tables), socket)
		plugin := cniPlugin(f.tables, rt.ConfigVersion)
		section := table(f.tables, "plugins", plugin)
		cni := table(section, "cni")
		if dir := cni["bin_dir"]; dir != nil && rt.ConfigVersion >= 3 && number64(f.tables["version"]) == 2 {
			cni["bin_dirs"] = []any{dir} // since 2.1 containerd migrates it
			delete(cni, "bin_dir")
		}
		said := slices.Collect(maps.Keys(cni))
		if section != nil && replaces {
			clear(settings)
			said = []string{"bin_dir", "bin_dirs", "conf_dir", "conf_template"}
		}
		maps.Copy(settings, cni)
		rt.setBy(f.name, said...)
		if plugin != cniPlugin(nil, rt.ConfigVersion) && len(said) > 0 {
			if rt.OtherTables == nil {
				rt.OtherTables = map[string]string{}
			}
			rt.OtherTables[f.name] = plugin
		}
	}
	g.listensAt(rt, cmp.Or(command.flag("address", "a"), socket))
	rt.ConfDir = cmp.Or(absolute(text(settings["conf_dir"])), rt.ConfDir)
	if s := text(settings["bin_dir"]); s != "" {
		rt.BinDirs, rt.BinDirKey = []string{s}, "bin_dir"
	}
	if s := texts(settings["bin_dirs"]); len(s) > 0 {
		rt.BinDirs, rt.BinDirKey = s, "bin_dirs"
	}
	if n, ok := settings["max_conf_num"].(int64); ok {
		rt.MaxConfNum = int(n)
	}
	rt.BinDirs = allAbsolute(rt.BinDirs)
	rt.ConfTemplate = text(settings["conf_template"])
}

// replacesSections reports whether containerd takes a plugin's whole section from the last file
// that has it. 1.x does; 2.x merges sections key by key. While containerd does not run, its release
// is unknown, and the package of its program decides.
func (g gatherer) replacesSections(rt *RuntimeFacts, command unitCommand) bool {
	if rt.ConfigVersion >= 3 || rt.Version != "" {
		return rt.ConfigVersion < 3 && strings.HasPrefix(rt.Version, "1.")
	}
	return len(command.args) == 0 || !strings.Contains(hostfs.GoPackage(g.files, command.args[0]), "/containerd/v2/")
}

// containerdAddress returns the socket in a file of containerd, or "".
func containerdAddress(file map[string]any) string {
	server := table(file, "plugins", "io.containerd.server.v1.grpc") // since version 4
	return cmp.Or(text(table(file, "grpc")["address"]), text(server["address"]))
}

// listensAt sets the socket that a runtime's own file names, unless kubelet names another one.
func (g gatherer) listensAt(rt *RuntimeFacts, socket string) {
	if e := g.facts.Kubelet.RuntimeEndpoint; socket == "" || e != "" && e != "unix://"+socket {
		return
	}
	if info, err := g.files.Lstat(socket); err == nil && info.Type == hostfs.Other {
		rt.Socket = socket
	}
}

// cniPlugin returns the plugin whose table has the CNI settings, by the version in the file.
// Without a version in the file, it uses that of the main file.
func cniPlugin(file map[string]any, version int) string {
	switch version = cmp.Or(number64(file["version"]), version); {
	case version >= 3:
		return "io.containerd.cri.v1.runtime"
	case version == 2:
		return "io.containerd.grpc.v1.cri"
	}
	return "cri"
}

// setBy records which file sets keys in the end, if it is not the runtime's own file.
func (rt *RuntimeFacts) setBy(file string, keys ...string) {
	if file == rt.ConfigFile {
		return
	}
	if rt.SetBy == nil && len(keys) > 0 {
		rt.SetBy = map[string]string{}
	}
	for _, key := range keys {
		rt.SetBy[key] = file
	}
}

// absolute returns a directory as a runtime interprets it: systemd starts the runtime in "/".
func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	return path.Join("/", dir)
}

func allAbsolute(dirs []string) (out []string) {
	for _, dir := range dirs {
		out = append(out, absolute(dir))
	}
	return slices.Compact(out)
}

// runtimeFile is a file of a runtime's configuration.
type runtimeFile struct {
	name   string
	tables map[string]any // nil: it cannot be read
}

// containerdFiles reads containerd's main file and all imports in containerd's order: imports of an
// imported file come after all imports of the main file (LoadConfigWithPlugins, resolveImports).
// https://github.com/containerd/containerd/blob/v2.4.2/cmd/containerd/server/config/config.go
func (g gatherer) containerdFiles(main string) (out []runtimeFile) {
	for pending := []string{main}; len(pending) > 0; {
		var name string
		name, pending = pending[0], pending[1:]
		if name == g.without || slices.ContainsFunc(out, func(f runtimeFile) bool { return f.name == name }) {
			continue
		}
		t, err := g.toml(name)
		if errors.Is(err, fs.ErrNotExist) && name == main {
			return nil
		}
		if err != nil {
			g.problem("read the container runtime's configuration", err)
		}
		out = append(out, runtimeFile{name, t})
		for _, pattern := range texts(t["imports"]) {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(name), pattern)
			}
			if strings.Contains(pattern, "*") {
				pending = append(pending, glob(g.files, pattern)...)
			} else {
				pending = append(pending, path.Clean(pattern))
			}
		}
	}
	return out
}

// crioFiles reads CRI-O's file and its drop-ins (crio.conf.d(5)), and then the command line and the
// environment, which override them (crio(8)).
func (g gatherer) crioFiles(rt *RuntimeFacts, command unitCommand) {
	rt.BinDirs, rt.ConfDir, rt.From = []string{defaultCNIBin}, defaultCNIConf, "default"
	rt.DropInDir = command.option("CONTAINER_CONFIG_DIR", "config-dir", "d")
	oldBinDir := ""
	for _, file := range g.crioConfigs(rt.ConfigFile, command) {
		t, err := g.toml(file)
		if file == g.without || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.problem("read the container runtime's configuration", err)
			continue
		}
		g.listensAt(rt, text(table(t, "crio", "api")["listen"]))
		network := table(t, "crio", "network")
		if s := text(network["network_dir"]); s != "" {
			rt.ConfDir, rt.From = s, file
		}
		if _, ok := network["plugin_dirs"].([]any); ok {
			rt.BinDirs, rt.From = texts(network["plugin_dirs"]), file
		}
		if s, ok := network["plugin_dir"].(string); ok { // deprecated, used in addition
			oldBinDir = s
		}
		if s, ok := network["cni_default_network"].(string); ok {
			rt.DefaultNetwork = s
		}
		for _, key := range []string{"network_dir", "plugin_dirs"} {
			if network[key] != nil {
				rt.setBy(file, key)
			}
		}
	}
	const flags = "its command line"
	g.listensAt(rt, command.option("CONTAINER_LISTEN", "listen"))
	if s := command.option("CONTAINER_CNI_CONFIG_DIR", "cni-config-dir"); s != "" {
		rt.ConfDir, rt.From = s, flags
		rt.setBy(flags, "network_dir")
	}
	dirs := strings.Join(command.values("cni-plugin-dir"), ",") // each adds to the list
	if s := cmp.Or(dirs, command.env["CONTAINER_CNI_PLUGIN_DIR"]); s != "" {
		rt.BinDirs, rt.From = strings.Split(strings.ReplaceAll(s, " ", ""), ","), flags
		rt.setBy(flags, "plugin_dirs")
	}
	rt.DefaultNetwork = cmp.Or(command.option("CONTAINER_CNI_DEFAULT_NETWORK", "cni-default-network"), rt.DefaultNetwork)
	if oldBinDir != "" {
		rt.BinDirs = append(slices.Clone(rt.BinDirs), oldBinDir)
	}
	rt.crioDirs(rt.ConfDir, rt.BinDirs)
}

// crioConfigs returns CRI-O's file and its drop-ins, in the order in which CRI-O reads them.
func (g gatherer) crioConfigs(main string, command unitCommand) []string {
	dropIns := cmp.Or(command.option("CONTAINER_CONFIG_DIR", "config-dir", "d"), "/etc/crio/crio.conf.d")
	return append([]string{main}, filesBelow(g.files, dropIns)...)
}

// crioDirs sets the directories as CRI-O interprets them.
func (rt *RuntimeFacts) crioDirs(confDir string, binDirs []string) {
	if len(binDirs) == 0 {
		binDirs = []string{defaultCNIBin}
	}
	rt.ConfDir, rt.BinDirs = absolute(confDir), allAbsolute(binDirs)
}

// crioRuns takes the CNI settings from the configuration with which CRI-O runs. A change in its
// files counts only at its next start.
func (rt *RuntimeFacts) crioRuns(config string) {
	t := map[string]any{}
	if toml.Unmarshal([]byte(config), &t) != nil {
		return
	}
	network := table(t, "crio", "network")
	if dir := text(network["network_dir"]); dir != "" {
		rt.crioDirs(dir, texts(network["plugin_dirs"]))
		rt.DefaultNetwork, rt.From = text(network["cni_default_network"]), "crio status config"
	}
}

// criDockerdUnits are the names of cri-dockerd's unit: that of its packages, and Kubespray's.
var criDockerdUnits = []string{"cri-docker.service", "cri-dockerd.service"}

// criDockerd reads the command line of cri-dockerd, through which kubelet uses docker since
// Kubernetes 1.24. Without it, the CNI settings are those of kubelet.
// https://github.com/Mirantis/cri-dockerd/blob/master/config/options.go
func (g gatherer) criDockerd(rt *RuntimeFacts) {
	for _, name := range criDockerdUnits {
		if unit, ok := g.unitFile("read the unit of cri-dockerd", name); ok && !unit.Masked {
			g.criDockerdFlags(rt, name, commandOf(unit, g.files))
			return
		}
	}
}

func (g gatherer) criDockerdFlags(rt *RuntimeFacts, unit string, command unitCommand) {
	rt.BinDirs, rt.ConfDir, rt.From = []string{defaultCNIBin}, defaultCNIConf, "default"
	for _, f := range command.flags() {
		switch {
		case f.Name == "cni-conf-dir" && f.Value != "":
			rt.ConfDir, rt.From = absolute(f.Value), "its command line"
		case f.Name == "cni-bin-dir" && f.Value != "":
			rt.BinDirs, rt.From = allAbsolute(strings.Split(f.Value, ",")), "its command line"
		case f.Name == "network-plugin" && f.Value != "cni":
			g.problem("look how docker gives pods a network", fmt.Errorf("%s has --network-plugin=%s, so cri-dockerd "+
				"calls no CNI plugin: set it to cni and restart %s", unit, f.Value, unit))
		}
	}
}

// toml reads a TOML file.
func (g gatherer) toml(file string) (map[string]any, error) {
	raw, err := readConfig(g.files, file)
	if err != nil {
		return nil, err
	}
	t := map[string]any{}
	if err := toml.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// table returns a nested table, nil if there is none.
func table(t map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		t, _ = t[key].(map[string]any)
	}
	return t
}

// text returns a string, or "" for another type.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// texts returns the strings in a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func number64(v any) int {
	n, _ := v.(int64)
	return int(n)
}
