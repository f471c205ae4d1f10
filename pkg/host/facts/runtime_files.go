package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// containerdFile reads containerd's own file and its imports
// (containerd-config.toml(5)).
func (g gatherer) containerdFile(rt *RuntimeFacts) {
	rt.BinDirs, rt.ConfDir, rt.MaxConfNum, rt.From = []string{defaultCNIBin}, defaultCNIConf, 1, "default"
	main, err := g.toml(rt.ConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		rt.ConfigFile = ""
		return
	}
	if err != nil {
		g.problem("read the container runtime's configuration", err)
		return
	}
	rt.ConfigVersion = max(1, number64(main["version"]))
	rt.Imports = texts(main["imports"])
	rt.CRIDisabled = slices.ContainsFunc(texts(main["disabled_plugins"]), func(p string) bool {
		return p == "cri" || p == "io.containerd.grpc.v1.cri"
	})
	settings := map[string]any{}
	for _, t := range append([]map[string]any{main}, g.imports(rt)...) {
		cni := table(t, "plugins", cniPlugin(t, rt.ConfigVersion), "cni")
		if cni == nil {
			continue
		}
		if rt.ConfigVersion < 3 {
			clear(settings) // 1.x takes a plugin's whole section from the last file that has one
		}
		maps.Copy(settings, cni)
	}
	g.listensAt(rt, table(main, "grpc")["address"])
	rt.From = rt.ConfigFile
	if s, ok := settings["conf_dir"].(string); ok && s != "" {
		rt.ConfDir = s
	}
	if s, ok := settings["bin_dir"].(string); ok && s != "" {
		rt.BinDirs, rt.BinDirKey = []string{s}, "bin_dir"
	}
	if s := texts(settings["bin_dirs"]); len(s) > 0 {
		rt.BinDirs, rt.BinDirKey = s, "bin_dirs"
	}
	if n, ok := settings["max_conf_num"].(int64); ok {
		rt.MaxConfNum = int(n)
	}
	rt.ConfTemplate, _ = settings["conf_template"].(string)
}

// listensAt takes the socket that a runtime's own file names, where kubelet
// names no other.
func (g gatherer) listensAt(rt *RuntimeFacts, address any) {
	socket, _ := address.(string)
	if e := g.facts.Kubelet.RuntimeEndpoint; socket == "" || e != "" && e != "unix://"+socket {
		return
	}
	if info, err := g.from.files.Lstat(socket); err == nil && info.Type == hostfs.Other {
		rt.Socket = socket
	}
}

// cniPlugin is the plugin of a file whose table has the CNI settings, by the
// file's own version; one without takes over the main file's.
func cniPlugin(file map[string]any, version int) string {
	if v := number64(file["version"]); v > 0 {
		version = v
	}
	switch {
	case version >= 3:
		return "io.containerd.cri.v1.runtime"
	case version == 2:
		return "io.containerd.grpc.v1.cri"
	}
	return "cri"
}

// imports reads the files that containerd's main file imports, in order.
func (g gatherer) imports(rt *RuntimeFacts) []map[string]any {
	var out []map[string]any
	for _, pattern := range rt.Imports {
		if !path.IsAbs(pattern) {
			pattern = path.Join(path.Dir(rt.ConfigFile), pattern)
		}
		for _, file := range glob(g.from.files, pattern) {
			t, err := g.toml(file)
			if err != nil {
				g.problem("read a configuration that the container runtime imports", err)
				continue
			}
			out = append(out, t)
		}
	}
	return out
}

// crioFiles reads CRI-O's file and its drop-ins (crio.conf.d(5)).
func (g gatherer) crioFiles(rt *RuntimeFacts) {
	rt.BinDirs, rt.ConfDir, rt.From = []string{defaultCNIBin}, defaultCNIConf, "default"
	for _, file := range append([]string{rt.ConfigFile}, glob(g.from.files, "/etc/crio/crio.conf.d/*")...) {
		t, err := g.toml(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.problem("read the container runtime's configuration", err)
			continue
		}
		g.listensAt(rt, table(t, "crio", "api")["listen"])
		network := table(t, "crio", "network")
		if s, ok := network["network_dir"].(string); ok && s != "" {
			rt.ConfDir, rt.From = path.Clean(s), file
		}
		if s := texts(network["plugin_dirs"]); len(s) > 0 {
			rt.BinDirs, rt.From = s, file
		}
	}
	for i, dir := range rt.BinDirs {
		rt.BinDirs[i] = path.Clean(dir)
	}
	rt.BinDirs = slices.Compact(rt.BinDirs)
}

// toml reads a file of tables.
func (g gatherer) toml(file string) (map[string]any, error) {
	raw, err := readConfig(g.from.files, file)
	if err != nil {
		return nil, err
	}
	var t map[string]any
	if err := toml.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// table is a table within tables, nil if there is none.
func table(t map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		t, _ = t[key].(map[string]any)
	}
	return t
}

// texts are the strings of a list.
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
