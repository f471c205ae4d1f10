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

// cniConf is what we read of a conf: a list, or a single plugin made into a list of one.
type cniConf struct {
	Name    string      `json:"name"`
	Plugins []cniPlugin `json:"plugins"`
}

type cniPlugin struct {
	Name string `json:"name"`
	Type string `json:"type"`
	IPAM struct {
		Type string `json:"type"`
	} `json:"ipam"`
}

// readConf reads a conf as the runtimes do: a .conflist is a list with a name and plugins, any other is one plugin with a type.
func readConf(v host.View, file string) (cniConf, error) {
	data, err := v.ReadFile(file)
	if err != nil {
		return cniConf{}, fmt.Errorf("read it: %w", err)
	}
	if len(data) > maxConf {
		return cniConf{}, fmt.Errorf("it has %d bytes, more than the %d that containerd reads", len(data), maxConf)
	}
	if path.Ext(file) != ".conflist" {
		var one cniPlugin
		if err := json.Unmarshal(data, &one); err != nil {
			return cniConf{}, fmt.Errorf("parse it: %w", err)
		}
		if one.Type == "" {
			return cniConf{}, errors.New("it has no `type`")
		}
		return cniConf{Name: one.Name, Plugins: []cniPlugin{one}}, nil
	}
	var list cniConf
	if err := json.Unmarshal(data, &list); err != nil {
		return cniConf{}, fmt.Errorf("parse it: %w", err)
	}
	if list.Name == "" || len(list.Plugins) == 0 {
		return cniConf{}, errors.New("it has no `name` or no `plugins`")
	}
	for i, p := range list.Plugins {
		if p.Type == "" {
			return cniConf{}, fmt.Errorf("its plugin %d has no `type`", i+1)
		}
	}
	return list, nil
}

// delegates tells that the conf is a meta-plugin's, which stands first on purpose and calls the conf after it.
func (c cniConf) delegates() bool {
	for _, p := range c.Plugins {
		if p.Type == "multus" || p.Type == "multus-shim" || p.Type == "genie" {
			return true
		}
	}
	return false
}

// binaries are the programs that the conf needs, in order.
func (c cniConf) binaries() []string {
	var out []string
	for _, p := range c.Plugins {
		for _, name := range []string{p.Type, p.IPAM.Type} {
			if name != "" && !strings.ContainsRune(name, '/') {
				out = append(out, name)
			}
		}
	}
	return out
}
