package facts

import (
	"bytes"
	"encoding/json"
	"path"
)

// loadedConf finds the file of the network that the runtime has loaded. CRI reports the text and
// the name of the network, not the file.
// https://github.com/containerd/containerd/blob/v2.1.4/internal/cri/server/status.go
func (g gatherer) loadedConf(rt *RuntimeFacts, info map[string]string) {
	var status string
	if json.Unmarshal([]byte(info["lastCNILoadStatus"]), &status) == nil && status != "OK" {
		rt.LoadError = status
	}
	var cni struct {
		Networks []struct {
			IFName string
			Config struct {
				Name   string
				Source string
			}
		}
	}
	if json.Unmarshal([]byte(info["cniconfig"]), &cni) != nil {
		return
	}
	for _, network := range cni.Networks {
		if network.IFName == "lo" {
			continue
		}
		rt.LoadedNetwork = network.Config.Name
		var same bool
		rt.LoadedConf, same = g.confWith(rt.ConfDir, network.Config.Name, network.Config.Source)
		// For a file with a single plugin, the runtime reports a list that it made from the file.
		rt.LoadedOld = !same && path.Ext(rt.LoadedConf) == ".conflist"
		return
	}
}

// confWith returns the first conf in a directory with the given text, or else the first with the
// given network name.
func (g gatherer) confWith(dir, name, text string) (file string, same bool) {
	files, err := g.files.ReadDir(dir)
	if err != nil {
		return "", false
	}
	named := ""
	for _, file := range files {
		switch path.Ext(file) {
		case ".conf", ".conflist", ".json":
		default:
			continue
		}
		raw, err := g.files.ReadFile(path.Join(dir, file))
		if err != nil {
			continue
		}
		if text != "" && bytes.Equal(bytes.TrimSpace(raw), bytes.TrimSpace([]byte(text))) {
			return file, true
		}
		var conf struct{ Name string }
		if named == "" && json.Unmarshal(raw, &conf) == nil && conf.Name == name && name != "" {
			named = file
		}
	}
	return named, false
}
