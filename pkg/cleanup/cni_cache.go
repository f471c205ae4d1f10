package cleanup

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// These are the directories in which libcni keeps the arguments and the result of an ADD, and
// host-local the addresses that it gave. Both identify a network by the name in its conf, and
// several networks use the same name: k8s-pod-network, cbr0.
// https://github.com/containernetworking/cni/blob/main/libcni/api.go (cachedInfo)
const (
	cniResults  = "/var/lib/cni/results"
	cniNetworks = "/var/lib/cni/networks"
)

// othersCache reports whether the plugin of another network made a path below these directories.
// The type in the cached conf decides; for an address, the cached result of the container that has
// it decides. If no type is cached, or if the types of this network are unknown, the name decides.
func (l Residue) othersCache(v host.View, name string) (bool, error) {
	if len(l.Types) == 0 {
		return false, nil
	}
	switch path.Dir(name) {
	case cniResults:
		return l.othersResult(v, name)
	case cniNetworks:
		return l.othersAddresses(v, name)
	}
	return false, nil
}

// othersAddresses checks each address in a directory of host-local. The first line of an address'
// file has the container ID.
func (l Residue) othersAddresses(v host.View, dir string) (bool, error) {
	files, err := v.Files.ReadDir(dir)
	if hostpath.IsMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, file := range files {
		content, err := v.Files.ReadFile(path.Join(dir, file))
		if err != nil {
			continue // a directory, or the file is gone
		}
		container, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
		results, err := resultsOf(v, path.Base(dir), strings.TrimSpace(container))
		if err != nil {
			return false, err
		}
		for _, result := range results {
			if others, err := l.othersResult(v, result); others || err != nil {
				return others, err
			}
		}
	}
	return false, nil
}

func (l Residue) othersResult(v host.View, name string) (bool, error) {
	content, err := v.Files.ReadFile(name)
	if hostpath.IsMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var cached struct {
		Config []byte `json:"config"`
	}
	var conf struct {
		Type    string `json:"type"`
		Plugins []struct {
			Type string `json:"type"`
		} `json:"plugins"`
	}
	if json.Unmarshal(content, &cached) != nil || json.Unmarshal(cached.Config, &conf) != nil {
		return false, nil // written by an older libcni, or incomplete
	}
	if len(conf.Plugins) > 0 {
		conf.Type = conf.Plugins[0].Type
	}
	return conf.Type != "" && !slices.Contains(l.Types, conf.Type), nil
}
