package model

import (
	"strings"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// modulesFile makes systemd-modules-load.service load the modules at boot. That happens before
// systemd-sysctl.service sets keys that exist only with these modules.
const modulesFile = "/etc/modules-load.d/netwright.conf"

// nodeModules returns the modules of every node. kOps loads br_netfilter everywhere
// (upup/pkg/fi/nodeup/command.go), containerd's unit loads overlay, and kube-proxy needs
// nf_conntrack to set its size.
func nodeModules() []network.Module {
	return []network.Module{
		{Name: "overlay", Why: "containerd's snapshots", Optional: true},
		{Name: "nf_conntrack", Why: "kube-proxy", Optional: true},
	}
}

// modules loads each module now and lists all of them in one file for the next boot. The file
// leaves out a module that this kernel does not have, because systemd-modules-load.service would
// fail at every boot. It also leaves out an optional module of which the facts know nothing, as a
// declared network may have: the agent loads that one at each start.
func (b *builder) modules() error {
	var text strings.Builder
	text.WriteString(header)
	add := func(m network.Module, meta tasks.Meta) {
		if !m.Applies(b.view) {
			return
		}
		meta.Why = m.Why
		b.add(tasks.Module{Meta: meta, Name: m.Name, Optional: m.Optional})
		switch k := &b.in.Facts.Kernel; {
		case !k.Modules || atBoot(k, m):
			text.WriteString(m.Name + "\n")
		case k.Release == "" && !m.Optional: // an image: no task can look at the kernel
			b.note(network.Warning, meta.From,
				"no kernel of this image has module %s (%s): add the package that has it", m.Name, m.Why)
		}
	}
	for _, m := range b.net.Modules {
		add(m, tasks.Meta{From: b.view.NetworkOrigin()})
	}
	for _, m := range b.bridgeModule() {
		add(m, tasks.Meta{From: b.view.Origin(bridgePolicyPath)})
	}
	for _, m := range nodeModules() {
		add(m, nodeDefault(""))
	}
	b.add(tasks.File{Meta: nodeDefault("the same modules after a reboot"), Path: modulesFile,
		Content: []byte(text.String()), Mode: 0o644})
	return nil
}

// atBoot reports whether the next boot should load a module: the kernel is not known to lack it,
// and the module is required or is one that the facts look for.
func atBoot(k *facts.KernelFacts, m network.Module) bool {
	name := moduleFact(m.Name)
	return k.ModuleStates[name] != kernel.ModuleMissing && (!m.Optional || facts.KnowsModule(name))
}
