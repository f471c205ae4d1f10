package facts

import (
	"cmp"
	"errors"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// kubeletUnits are the names under which distributions start kubelet.
var kubeletUnits = []string{"kubelet.service", "snap.kubelet.daemon.service", "snap.kubelet-eks.daemon.service"}

// kubelet reads how kubelet takes its flags, from its unit's files.
func (g gatherer) kubelet() {
	k := &g.facts.Kubelet
	for _, name := range kubeletUnits {
		unit, ok := g.unitFile("read kubelet's unit", name)
		if !ok {
			continue
		}
		k.Unit = name
		command := commandOf(unit, g.from.files)
		k.ExecStart = command.line
		if len(command.args) > 0 {
			k.Program = command.args[0]
			k.Version = g.from.cachedVersion(k.Program)
		}
		k.Variables = command.variables
		k.Flags = command.flags()
		if slices.ContainsFunc(unit.DropIns, func(file string) bool { return path.Base(file) == OwnDropIn }) {
			k.Flags = commandOf(g.byOthers(unit), g.from.files).flags()
		}
		k.Set = g.setByOthers(unit, k.Variables)
		k.EnvFiles = command.envFiles
		k.ConfigFile = command.flag("config", "")
		k.ConfigDir = command.flag("config-dir", "")
		k.RuntimeEndpoint = command.flag("container-runtime-endpoint", "")
		if k.RuntimeEndpoint == "" && k.ConfigFile != "" {
			k.RuntimeEndpoint = g.configuredEndpoint(k.ConfigFile)
		}
		k.Kubeconfig = g.kubeconfigOf(command)
		k.ClusterDNS = g.clusterDNS(command.flag("cluster-dns", ""), k.ConfigFile)
		if plugin := command.flag("network-plugin", ""); plugin != "" {
			k.CNI = KubeletCNI{plugin, cmp.Or(command.flag("cni-conf-dir", ""), "/etc/cni/net.d"),
				strings.Split(cmp.Or(command.flag("cni-bin-dir", ""), "/opt/cni/bin"), ",")}
		}
		return
	}
}

// unitFile reads a unit's files, and notes what of them cannot be read. False: there is no unit, or
// its own file cannot be read.
func (g gatherer) unitFile(what, name string) (systemd.UnitFile, bool) {
	unit, err := ReadUnitFile(g.from.files, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.problem(what, err)
	}
	for _, unread := range unit.Unread {
		g.problem(what, unread)
	}
	return unit, err == nil
}

// kubeletKubeconfigs are where kOps and EKS, and kubeadm, have the kubeconfig of their kubelet.
var kubeletKubeconfigs = []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf"}

// kubeconfigOf is the kubeconfig that a kubelet's command line names, or one that is where such
// are.
func (g gatherer) kubeconfigOf(command unitCommand) string {
	named := command.flag("kubeconfig", "")
	for _, file := range kubeletKubeconfigs {
		if _, err := g.from.files.Lstat(file); named == "" && err == nil {
			return file
		}
	}
	return named
}

// OwnDropIn is the name of our drop-ins: after a distribution's 10-…, before a
// person's 99-….
const OwnDropIn = "50-netwright.conf"

// byOthers is a unit as it is without our drop-in.
func (g gatherer) byOthers(unit systemd.UnitFile) systemd.UnitFile {
	others := systemd.ParseUnitFile(nil)
	for _, file := range append([]string{unit.Fragment}, unit.DropIns...) {
		if raw, err := g.from.files.ReadFile(file); err == nil && path.Base(file) != OwnDropIn {
			others.Merge(raw)
		}
	}
	return others
}

// setByOthers finds who else sets a unit's variables; of one variable the last.
func (g gatherer) setByOthers(unit systemd.UnitFile, variables []string) []VariableFact {
	var out []VariableFact
	for _, file := range append([]string{unit.Fragment}, unit.DropIns...) {
		raw, err := g.from.files.ReadFile(file)
		if err != nil || path.Base(file) == OwnDropIn {
			continue
		}
		one := systemd.ParseUnitFile(raw)
		for _, line := range one.Values("Service", "Environment") {
			for _, word := range splitCommand(line) {
				name, value, ok := strings.Cut(word, "=")
				if !ok || !slices.Contains(variables, name) {
					continue
				}
				out = slices.DeleteFunc(out, func(v VariableFact) bool { return v.Name == name })
				out = append(out, VariableFact{Name: name, Value: value, File: file})
			}
		}
	}
	return out
}

// configuredEndpoint is containerRuntimeEndpoint of a KubeletConfiguration
// (since Kubernetes 1.27), a plain scalar on a line of its own.
func (g gatherer) configuredEndpoint(file string) string {
	raw, err := g.from.files.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "containerRuntimeEndpoint:"); ok {
			value, _, _ = strings.Cut(value, " #")
			return unquote(strings.TrimSpace(value))
		}
	}
	return ""
}

// clusterDNS is what a flag says, or clusterDNS of a KubeletConfiguration: a list of plain scalars,
// a line each or in brackets.
func (g gatherer) clusterDNS(flag, file string) (out []netip.Addr) {
	add := func(words string) {
		for word := range strings.SplitSeq(strings.Trim(strings.TrimSpace(words), "[]"), ",") {
			if a, err := netip.ParseAddr(unquote(strings.TrimSpace(word))); err == nil {
				out = append(out, a)
			}
		}
	}
	if add(flag); len(out) > 0 || file == "" {
		return out
	}
	raw, err := g.from.files.ReadFile(file)
	if err != nil {
		return nil
	}
	listed := false
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "clusterDNS:"); ok {
			listed = true
			add(rest)
		} else if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && listed {
			add(item)
		} else {
			listed = false
		}
	}
	return out
}
