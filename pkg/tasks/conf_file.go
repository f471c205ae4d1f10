package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// maxConf is the size above which containerd (go-cni) refuses a conf.
const maxConf = 2 << 20

// confFiles picks the names that libcni takes for confs and puts them in its order: bytewise. Directories are none.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/conf.go (ConfFiles)
func confFiles(v host.View, dir string, names []string) ([]string, error) {
	var confs []string
	for _, name := range names {
		switch path.Ext(name) {
		case ".conf", ".conflist", ".json":
		default:
			continue
		}
		info, err := v.Lstat(path.Join(dir, name))
		switch {
		case errors.Is(err, host.ErrNotExist) && !v.WillExist(string(FileKey(path.Join(dir, name)))):
			continue // just gone, or about to go
		case errors.Is(err, host.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at the CNI conf %s: %w", path.Join(dir, name), err)
		case info.Type == host.Directory:
			continue
		}
		confs = append(confs, name)
	}
	sort.Strings(confs)
	return confs, nil
}

// CNIConf is what we read of a conf: a list, or a single plugin made into a list of one.
type CNIConf struct {
	File        string      `json:"-"` // its path
	Name        string      `json:"name"`
	CNIVersion  string      `json:"cniVersion"`  // of the spec; "" is 0.1.0
	CNIVersions []string    `json:"cniVersions"` // spec 1.1.0: the newest that the runtime knows counts
	Plugins     []CNIPlugin `json:"plugins"`
}

// CNIPlugin is one plugin of a conf, and whom it calls by itself.
type CNIPlugin struct {
	Name string `json:"name"`
	Type string `json:"type"`
	IPAM struct {
		Type string `json:"type"`
	} `json:"ipam"`
	Delegate  json.RawMessage `json:"delegate"`  // flannel's
	Delegates json.RawMessage `json:"delegates"` // Multus': whole confs

	CNIVersion  string   `json:"cniVersion"`
	CNIVersions []string `json:"cniVersions"`
}

// readConf reads a conf as the runtimes do: a .conflist is a list with a name and plugins, any other is one plugin with a type.
func readConf(v host.View, file string) (CNIConf, error) {
	data, err := v.ReadAtMost(file, maxConf)
	var large *host.TooLargeError
	if errors.As(err, &large) {
		return CNIConf{}, fmt.Errorf("it has more than the %d bytes that containerd reads", maxConf)
	}
	if err != nil {
		return CNIConf{}, fmt.Errorf("read it: %w", err)
	}
	conf, err := parseConf(data, path.Ext(file) == ".conflist")
	if errors.Is(err, errNoPlugins) && conf.Name != "" {
		conf, err = pluginsBeside(v, conf, path.Join(path.Dir(file), conf.Name))
	}
	conf.File = file
	return conf, err
}

// errNoPlugins is of a list that says nothing of plugins.
var errNoPlugins = errors.New("it has no `name` or no `plugins`")

// pluginsBeside reads the plugins of a list that has none: from spec 1.1 on they may stand in a directory of the network's name.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/conf.go (NetworkPluginConfsFromFiles)
func pluginsBeside(v host.View, list CNIConf, dir string) (CNIConf, error) {
	if strings.ContainsRune(list.Name, '/') {
		return CNIConf{}, errNoPlugins
	}
	names, err := v.ReadDir(dir)
	if err != nil {
		return CNIConf{}, errNoPlugins
	}
	for _, name := range names {
		if path.Ext(name) != ".conf" {
			continue
		}
		one, err := readConf(v, path.Join(dir, name))
		if err != nil {
			return CNIConf{}, fmt.Errorf("its plugin in %s: %w", path.Join(dir, name), err)
		}
		list.Plugins = append(list.Plugins, one.Plugins...)
	}
	if len(list.Plugins) == 0 {
		return CNIConf{}, errNoPlugins
	}
	return list, nil
}

func parseConf(data []byte, isList bool) (CNIConf, error) {
	if !isList {
		var one struct {
			CNIPlugin
			Plugins json.RawMessage `json:"plugins"`
		}
		if err := json.Unmarshal(data, &one); err != nil {
			return CNIConf{}, fmt.Errorf("parse it: %w", err)
		}
		switch {
		case one.Type == "" && one.Plugins != nil:
			return CNIConf{}, errors.New("it is a list (`plugins`) in a file for a single plugin: name it .conflist")
		case one.Type == "":
			return CNIConf{}, errors.New("it has no `type`")
		}
		return CNIConf{Name: one.Name, CNIVersion: one.CNIVersion, CNIVersions: one.CNIVersions, Plugins: []CNIPlugin{one.CNIPlugin}}, nil
	}
	var list struct {
		CNIConf
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return CNIConf{}, fmt.Errorf("parse it: %w", err)
	}
	switch {
	case list.Type != "" && len(list.Plugins) == 0:
		return CNIConf{}, errors.New("it is a single plugin (`type`) in a file for lists: name it .conf, or put it into a list `plugins`")
	case list.Name == "" || len(list.Plugins) == 0:
		return CNIConf{Name: list.Name, CNIVersion: list.CNIVersion, CNIVersions: list.CNIVersions}, errNoPlugins
	}
	for i, p := range list.Plugins {
		if p.Type == "" {
			return CNIConf{}, fmt.Errorf("its plugin %d has no `type`", i+1)
		}
	}
	return list.CNIConf, nil
}

// delegates tells that the conf is a meta-plugin's, which stands first on purpose and calls the conf after it.
func (c CNIConf) delegates() bool {
	for _, p := range c.Plugins {
		if p.Type == "multus" || p.Type == "multus-shim" || p.Type == "genie" {
			return true
		}
	}
	return false
}
