package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/containernetworking/cni/libcni"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// maxConf is the largest conf that containerd (go-cni) accepts, in bytes.
const maxConf = 2 << 20

// isConf reports whether libcni takes a file with this name for a conf.
func isConf(name string) bool {
	switch path.Ext(name) {
	case ".conf", ".conflist", ".json":
		return true
	}
	return false
}

// confFiles returns the names that libcni takes for confs, in libcni's order: bytewise. Directories
// are left out. https://github.com/containernetworking/cni/blob/v1.3.0/libcni/conf.go (ConfFiles)
func confFiles(v host.View, dir string, names []string) ([]string, error) {
	var confs []string
	for _, name := range names {
		if !isConf(name) {
			continue
		}
		info, err := v.Files.Lstat(path.Join(dir, name))
		switch {
		case errors.Is(err, host.ErrNotExist) && !willExist(v, FileKey(path.Join(dir, name))):
			continue // removed just now, or about to be removed
		case errors.Is(err, host.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read the CNI conf %s: %w", path.Join(dir, name), err)
		case info.Type == hostfs.Directory:
			continue
		}
		confs = append(confs, name)
	}
	slices.Sort(confs)
	return confs, nil
}

// CNIConf is the part of a conf that the agent reads: a list, or a single plugin as a list of one.
type CNIConf struct {
	File    string // its path
	Name    string
	Version string // of the CNI spec; plugins are called with it
	Of      string // nerdctl, podman: only containers of that program belong into the network
	Plugins []CNIPlugin
}

// CNIPlugin is one plugin of a conf, with the configuration of plugins that it calls itself.
type CNIPlugin struct {
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
	IPAM         json.RawMessage `json:"ipam"`
	Bytes        json.RawMessage `json:"mtu"`
	Delegate     json.RawMessage `json:"delegate"`  // flannel's configuration of the plugin that it calls
	Delegates    json.RawMessage `json:"delegates"` // Multus' whole confs
}

// MTU returns the MTU that a conf gives to the links of pods; 0: it gives none.
func (c CNIConf) MTU() (mtu int) {
	for _, p := range c.Plugins {
		if json.Unmarshal(p.Bytes, &mtu) == nil && mtu > 0 {
			return mtu
		}
	}
	return 0
}

// addresses returns the type of the IPAM plugin that a plugin calls; "": none.
func (p CNIPlugin) addresses() string {
	var ipam struct{ Type string }
	_ = json.Unmarshal(p.IPAM, &ipam) // libcni has parsed it: an error means that there is none
	return ipam.Type
}

// readConf reads a conf as the consumer does: a .conflist is a list with a name and plugins, any
// other file is one plugin with a type.
func (t WaitConf) readConf(v host.View, file string) (CNIConf, error) {
	data, err := readSmall(v, file)
	if err != nil {
		return CNIConf{}, err
	}
	list, err := parseConf(data, path.Ext(file) == ".conflist")
	if err != nil {
		return CNIConf{}, err
	}
	if !list.LoadOnlyInlinedPlugins && t.Consumer.LoadsPluginDir && path.Ext(file) == ".conflist" {
		beside, err := pluginsInDir(v, path.Join(path.Dir(file), list.Name))
		if err != nil {
			return CNIConf{}, err
		}
		list.Plugins = append(list.Plugins, beside...)
	}
	if len(list.Plugins) == 0 {
		return CNIConf{}, fmt.Errorf("it has no `plugins`%s", t.noPluginDir(path.Join(path.Dir(file), list.Name)))
	}
	if t.Consumer.Spec != "" && t.Consumer.Spec < "1.1.0" { // consumers before spec 1.1.0 do not read cniVersions
		if list.CNIVersion, err = firstVersion(data); err != nil {
			return CNIConf{}, err
		}
	}
	conf, err := confOf(list)
	conf.File = file
	return conf, err
}

// noPluginDir returns a text about the directory in which the consumer looks for more plugins.
func (t WaitConf) noPluginDir(dir string) string {
	if t.Consumer.LoadsPluginDir {
		return ", and there is no *.conf in " + dir
	}
	return ": the runtime does not look for any in " + dir + ", as libcni does from 1.3 on (containerd 2.1)"
}

func readSmall(v host.View, file string) ([]byte, error) {
	data, _, err := v.Files.ReadEnds(file, maxConf+1)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if len(data) > maxConf {
		return nil, fmt.Errorf("it has more than the %d bytes that containerd reads", maxConf)
	}
	return data, nil
}

// pluginsInDir reads the plugins of a list from the directory with the network's name, which spec
// 1.1 allows. https://github.com/containernetworking/cni/blob/v1.3.0/libcni/conf.go
// (NetworkPluginConfsFromFiles)
func pluginsInDir(v host.View, dir string) ([]*libcni.PluginConfig, error) {
	names, err := v.Files.ReadDir(dir)
	if err != nil {
		return nil, nil // no directory, no plugins
	}
	slices.Sort(names)
	var out []*libcni.PluginConfig
	for _, name := range names {
		file := path.Join(dir, name)
		if info, err := v.Files.Lstat(file); path.Ext(name) != ".conf" || err != nil || info.Type == hostfs.Directory {
			continue
		}
		data, err := readSmall(v, file)
		if err != nil {
			return nil, fmt.Errorf("its plugin %s: %w", file, err)
		}
		one, err := parsePlugin(data)
		if err != nil {
			return nil, fmt.Errorf("its plugin %s: %w", file, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// confOf returns the part that the agent needs of a list that libcni has parsed.
func confOf(list *libcni.NetworkConfigList) (CNIConf, error) {
	conf := CNIConf{Name: list.Name, Version: list.CNIVersion, Of: program(list)}
	for _, p := range list.Plugins {
		var one CNIPlugin
		if err := json.Unmarshal(p.Bytes, &one); err != nil {
			return CNIConf{}, fmt.Errorf("parse its plugin %s: %w", p.Network.Type, err)
		}
		conf.Plugins = append(conf.Plugins, one)
	}
	return conf, nil
}

// program returns the program that made a conf for its own containers, on this node alone; "": none
// is known. nerdctl writes its id into each of its confs. podman names its bridges cni-podmanN.
// https://github.com/containerd/nerdctl/blob/v2.1.2/pkg/netutil/netutil.go (cniNetworkConfig)
// https://github.com/containers/podman/blob/v4.3.1/cni/87-podman-bridge.conflist
func program(list *libcni.NetworkConfigList) string {
	var conf struct {
		ID      json.RawMessage `json:"nerdctlID"`
		Plugins []struct{ Bridge string }
	}
	_ = json.Unmarshal(list.Bytes, &conf) // libcni has parsed it: an error means that it has neither
	switch {
	case len(conf.ID) > 0:
		return "nerdctl"
	case len(conf.Plugins) > 0 && strings.HasPrefix(conf.Plugins[0].Bridge, "cni-podman"):
		return "podman"
	}
	return ""
}

// delegates reports whether the conf is of a meta-plugin. Such a conf comes first on purpose and
// calls the conf after it.
func (c CNIConf) delegates() bool {
	return slices.ContainsFunc(c.Plugins, func(p CNIPlugin) bool {
		return p.Type == "multus" || p.Type == "multus-shim" || p.Type == "genie"
	})
}
