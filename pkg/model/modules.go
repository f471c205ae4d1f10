package model

import (
	"strings"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// modulesFile makes systemd-modules-load.service load the modules at boot, before
// systemd-sysctl.service sets keys that only exist with them.
const modulesFile = "/etc/modules-load.d/netwright.conf"

// nodeModules are wanted on every node. Upstream: kOps loads br_netfilter everywhere
// (upup/pkg/fi/nodeup/command.go), containerd's unit overlay; kube-proxy needs nf_conntrack and
// sets its size.
func nodeModules() []network.Module {
	return []network.Module{
		{Name: "overlay", Why: "containerd's snapshots", Optional: true},
		{Name: "nf_conntrack", Why: "kube-proxy", Optional: true},
	}
}

// modules loads each module now, and names them in one file for the next boot. A module that this
// kernel does not have stays out of the file: systemd-modules-load.service would fail at every
// boot. So does an optional one that the host is not asked for, as a declared network may have: the
// agent loads it at each start.
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
		case k.Release == "" && !m.Optional: // an image: no task can look
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

// atBoot says that a kernel is to load a module at its boot: it has it, as far as it was asked, or
// must.
func atBoot(k *facts.KernelFacts, m network.Module) bool {
	name := moduleFact(m.Name)
	return k.ModuleStates[name] != kernel.ModuleMissing && (!m.Optional || facts.KnowsModule(name))
}
