package host

import (
	"errors"
	"strings"
)

// kubeletUnits are the names under which distributions start kubelet.
var kubeletUnits = []string{"kubelet.service", "snap.kubelet.daemon.service", "snap.kubelet-eks.daemon.service"}

// kubelet reads how kubelet takes its flags, from its unit's files.
func (g gatherer) kubelet() {
	k := &g.facts.Kubelet
	for _, name := range kubeletUnits {
		unit, err := ReadUnitFile(g, name)
		if errors.Is(err, ErrNotExist) {
			continue
		}
		if err != nil {
			g.problem("read kubelet's unit", err)
			continue
		}
		k.Unit = name
		command := unit.command(g)
		k.ExecStart = command.line
		if len(command.args) > 0 {
			k.Program = command.args[0]
			k.Version = g.knownVersion(k.Program)
		}
		k.Variables = command.variables
		k.EnvFiles = command.envFiles
		k.ConfigFile = command.flag("config", "")
		k.ConfigDir = command.flag("config-dir", "")
		k.RuntimeEndpoint = command.flag("container-runtime-endpoint", "")
		if k.RuntimeEndpoint == "" && k.ConfigFile != "" {
			k.RuntimeEndpoint = g.configuredEndpoint(k.ConfigFile)
		}
		return
	}
}

// configuredEndpoint is containerRuntimeEndpoint of a KubeletConfiguration
// (since Kubernetes 1.27), a plain scalar on a line of its own.
func (g gatherer) configuredEndpoint(file string) string {
	raw, err := g.ReadFile(file)
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
