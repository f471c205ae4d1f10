package facts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// kubeletUnits are the names of kubelet's unit in distributions.
var kubeletUnits = []string{"kubelet.service", "snap.kubelet.daemon.service", "snap.kubelet-eks.daemon.service"}

// kubelet reads from the files of its unit how kubelet gets its flags.
func (g gatherer) kubelet() {
	k := &g.facts.Kubelet
	for _, name := range kubeletUnits {
		unit, ok := g.unitFile("read kubelet's unit", name)
		if !ok {
			continue
		}
		k.Unit = name
		command := commandOf(unit, g.files).dashed()
		k.ExecStart = command.line
		if len(command.args) > 0 {
			k.Program = command.args[0]
			k.Version = g.cachedVersion(k.Program)
		}
		k.Variables = command.variables
		others, set := byOthers(unit, k.Variables)
		k.Flags, k.Set = command.flags(), set
		if slices.ContainsFunc(unit.DropIns, func(file string) bool { return path.Base(file) == OwnDropIn }) {
			k.Flags = commandOf(others, g.files).dashed().flags()
		}
		k.EnvFiles = command.envFiles
		k.ConfigFile = command.flag("config")
		k.ConfigDir = command.flag("config-dir")
		config := g.kubeletConfig(k)
		k.RuntimeEndpoint = cmp.Or(command.flag("container-runtime-endpoint"),
			text(config["containerRuntimeEndpoint"])) // since 1.27
		// kubelet also accepts a plain path, and unix:/path.
		if e := strings.TrimPrefix(k.RuntimeEndpoint, "unix:"); strings.HasPrefix(e, "/") {
			k.RuntimeEndpoint = "unix://" + path.Clean(e)
		}
		k.Kubeconfig = g.kubeconfigOf(command)
		k.ClusterDNS = addresses(strings.Split(command.flag("cluster-dns"), ","))
		if len(k.ClusterDNS) == 0 {
			k.ClusterDNS = addresses(texts(config["clusterDNS"]))
		}
		if plugin := command.flag("network-plugin"); plugin != "" {
			k.CNI = KubeletCNI{plugin, absolute(cmp.Or(command.flag("cni-conf-dir"), defaultCNIConf)),
				allAbsolute(strings.Split(cmp.Or(command.flag("cni-bin-dir"), defaultCNIBin), ","))}
		}
		return
	}
}

// NodeName returns the name of kubelet's Node on a host with the given name. kOps and others give
// each AWS instance a name from the cloud.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/util/node/node.go (GetHostname)
func (k *KubeletFacts) NodeName(host string) string {
	for _, f := range k.Flags {
		if name := strings.ToLower(strings.TrimSpace(f.Value)); f.Name == "hostname-override" && name != "" {
			return name
		}
	}
	return host
}

// unitFile reads the files of a unit, and records the unreadable ones as problems. It returns false
// if there is no unit, or its main file cannot be read.
func (g gatherer) unitFile(what, name string) (systemd.UnitFile, bool) {
	unit, err := readUnitFile(g.files, g.dirs, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.problem(what, err)
	}
	for _, unread := range unit.Unread {
		g.problem(what, unread)
	}
	return unit, err == nil
}

// kubeletKubeconfigs are the paths of kubelet's kubeconfig with kOps and EKS, and with kubeadm.
var kubeletKubeconfigs = []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf"}

// kubeconfigOf returns the kubeconfig that kubelet's command line names, or else the first usual
// path that exists.
func (g gatherer) kubeconfigOf(command unitCommand) string {
	named := command.flag("kubeconfig")
	for _, file := range kubeletKubeconfigs {
		if named == "" && isThere(g.files, file) {
			return file
		}
	}
	return named
}

// OwnDropIn is the name of the agent's drop-ins, OwnTOML of those for containerd: after the 10-… of
// a distribution, before the 99-… of a person.
const (
	OwnDropIn = "50-netwright.conf"
	OwnTOML   = "50-netwright.toml"
)

// byOthers returns a unit without the agent's drop-in, and the files that set the given variables.
// For each variable only the last value counts. Values that an empty Environment= of a later file
// resets are left out.
func byOthers(unit systemd.UnitFile, variables []string) (others systemd.UnitFile, set []VariableFact) {
	others = systemd.ParseUnitFile(nil)
	for file, raw := range unit.Files() {
		if path.Base(file) == OwnDropIn {
			continue
		}
		others.Merge(raw)
		still := environment(others)
		set = slices.DeleteFunc(set, func(v VariableFact) bool { return !slices.ContainsFunc(still, v.names) })
		for _, assignment := range environment(systemd.ParseUnitFile(raw)) {
			if name, value, _ := strings.Cut(assignment, "="); slices.Contains(variables, name) {
				set = setVariable(set, VariableFact{Name: name, Value: value, File: file})
			}
		}
	}
	return others, set
}

// setVariable adds a variable to a list and removes an older one with the same name.
func setVariable(list []VariableFact, v VariableFact) []VariableFact {
	return append(slices.DeleteFunc(list, func(o VariableFact) bool { return o.Name == v.Name }), v)
}

// names reports whether an assignment sets the variable.
func (v VariableFact) names(assignment string) bool { return strings.HasPrefix(assignment, v.Name+"=") }

// kubeletConfig reads kubelet's configuration as kubelet does: its file, and then the files in
// --config-dir, which override single fields (mergeKubeletConfigurations).
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubelet/app/server.go
func (g gatherer) kubeletConfig(k *KubeletFacts) map[string]any {
	config := map[string]any{}
	var files []string
	if k.ConfigFile != "" {
		files = append(files, k.ConfigFile)
	}
	if k.ConfigDir != "" {
		files = append(files, filesBelow(g.files, k.ConfigDir)...)
	}
	for i, file := range files {
		dropIn := i > 0 || k.ConfigFile == ""
		raw, err := g.files.ReadFile(file)
		if dropIn && path.Ext(file) != ".conf" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var fields map[string]any
		if err == nil && json.Unmarshal(raw, &fields) != nil {
			err = yaml.Unmarshal(raw, &fields) // as kubelet does, with its library
		}
		if err != nil {
			g.problem("read kubelet's configuration", fmt.Errorf("%s: %w", file, err))
			continue
		}
		maps.Copy(config, fields)
		if path.Base(file) != OwnDropIn {
			k.noteFields(file, fields)
		}
	}
	return config
}

// noteFields records which fields a file of kubelet's configuration sets; the last file counts.
func (k *KubeletFacts) noteFields(file string, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch fields[name].(type) {
		case []any, map[any]any, map[string]any, nil:
			continue
		}
		if name == "apiVersion" || name == "kind" {
			continue
		}
		k.ConfigSet = setVariable(k.ConfigSet, VariableFact{Name: name, Value: fmt.Sprint(fields[name]), File: file})
	}
}

// addresses returns the words that are IP addresses.
func addresses(words []string) (out []netip.Addr) {
	for _, word := range words {
		if a, err := netip.ParseAddr(strings.TrimSpace(word)); err == nil {
			out = append(out, a)
		}
	}
	return out
}
