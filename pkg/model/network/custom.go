package network

import (
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/tasks"
)

const customName = "custom"

// custom returns the network that a document declares in the terms of [Network]. Without a
// declaration it returns the row that describes this possibility.
func custom(c *networks.Custom) Network {
	n := Network{
		Name:  customName,
		Title: "a network of your own, declared in the store in the terms in which this list knows the others",
		Docs:  "docs/documents.md", Kubelet: "cni",
		MTU:  "as declared: `mtu`, else the smallest MTU of the links that are up less `overhead`",
		Conf: Conf{Writer: WriterUser}, IPv6: true, Sysctls: optionally(forwarding()), Nodes: customNodes,
		Build: buildCustom,
	}
	if c == nil {
		n.TestedBy = []Proof{{"pods of two nodes reach each other with the plugins ptp and macvlan, declared in " +
			"the store",
			"test/e2e TestPodsTalkOnADeclaredNetwork"}}
		return n
	}
	n.Title, n.Docs, n.IPv6, n.Kubeconfig = c.Title, c.Docs, c.IPv6, c.Kubeconfig
	n.Lifecycle = Lifecycle{First: c.First, Last: c.Last}
	n.Conf = Conf{Writer: c.Conf.Writer, File: c.Conf.File, Chain: c.Conf.Chain}
	if n.Conf.Writer == WriterContainerd && n.Conf.File == "" {
		n.Conf.File = kubenetConf
	}
	for _, p := range c.Plugins {
		n.Plugins = append(n.Plugins, Plugin{Asset: p.Asset, Members: p.Members, Minimum: p.Minimum})
	}
	for _, m := range c.Modules {
		n.Modules = append(n.Modules,
			Module{Name: m.Name, Why: m.Why, Optional: m.Optional, Case: whenFamily(m.When)})
	}
	n.Sysctls = slices.DeleteFunc(n.Sysctls, func(s Sysctl) bool {
		return slices.ContainsFunc(c.Sysctls,
			func(said networks.CustomSysctl) bool { return tasks.SysctlKey(said.Key) == tasks.SysctlKey(s.Key) })
	})
	for _, s := range c.Sysctls {
		n.Sysctls = append(n.Sysctls, Sysctl{Key: s.Key, Value: s.Value, Why: s.Why, Required: s.Required,
			Optional: s.Optional, Case: whenFamily(s.When)})
	}
	for _, m := range c.Mounts {
		n.Mounts = append(n.Mounts, Mount{What: m.What, Where: m.Where, Type: m.Type})
	}
	for _, p := range c.Packages {
		n.Packages = append(n.Packages, Package{Name: p.Name, On: p.On})
	}
	for _, i := range c.Certificates {
		n.Certificates = append(n.Certificates,
			Certificate{Keypair: i.Keypair, Dir: i.Dir, Files: []string{i.CAFile, i.CertFile, i.KeyFile},
				Mode: "0644, 0644, 0600"})
	}
	for _, p := range c.Ports {
		n.Ports = append(n.Ports, Port(p))
	}
	n.Requires = Requires{Kernel: c.Requires.Kernel, Backports: c.Requires.Backports, Clouds: c.Requires.Clouds,
		Hugepages: c.Requires.Hugepages, Why: c.Requires.Why}
	n.SharedHost = customShared(c.SharedHost)
	for _, s := range c.HealthChecks {
		n.HealthChecks = append(n.HealthChecks, HealthCheck{Text: s.Text, Path: s.Path, Link: s.Link, Kind: s.Kind,
			Pods: s.Pods,
			Case: whenFamily(s.When)})
	}
	n.Agents, n.Residue = c.Agents, customResidue(c.Residue)
	return n
}

func customShared(s networks.CustomShared) SharedHost {
	out := SharedHost{Links: s.Links, Routes: s.Routes, MAC: s.MAC, ENIs: s.ENIs, Firewall: s.Firewall}
	for _, o := range s.Others {
		out.Others = append(out.Others, Shared(o))
	}
	return out
}

// customResidue converts the declared residue to the types of package cleanup.
func customResidue(l networks.CustomResidue) cleanup.Residue {
	return cleanup.Residue{
		Units: l.Units, IPSets: l.IPSets, Portmap: l.Portmap, Pins: l.Pins, Files: l.Files, LocalRule: l.LocalRule,
		Others: l.Others,
		Uplinks: each(l.Uplinks,
			func(m networks.CustomUplink) cleanup.UplinkSelector { return cleanup.UplinkSelector(m) }),
		Programs: each(l.Programs,
			func(m networks.CustomProgram) cleanup.ProgramSelector { return cleanup.ProgramSelector(m) }),
		Rules:  each(l.Rules, func(m networks.CustomRule) cleanup.RuleSelector { return cleanup.RuleSelector(m) }),
		Routes: each(l.Routes, func(m networks.CustomRoute) cleanup.RouteSelector { return cleanup.RouteSelector(m) }),
		IPVS:   each(l.IPVS, func(m networks.CustomIPVS) cleanup.IPVSSelector { return cleanup.IPVSSelector(m) }),
		Chains: each(l.Chains, func(m networks.CustomChain) cleanup.ChainSelector { return cleanup.ChainSelector(m) }),
		Tables: each(l.Tables, func(m networks.CustomTable) cleanup.TableSelector { return cleanup.TableSelector(m) }),
		XFRM:   each(l.XFRM, func(m networks.CustomXFRM) cleanup.XFRMSelector { return cleanup.XFRMSelector(m) }),
		OVS:    each(l.OVS, func(m networks.CustomOVS) cleanup.OVSSelector { return cleanup.OVSSelector(m) }),
		Links:  each(l.Links, func(m networks.CustomLink) cleanup.LinkSelector { return cleanup.LinkSelector(m) }),
		Sysctls: each(l.Sysctls,
			func(m networks.CustomValue) cleanup.SysctlSelector { return cleanup.SysctlSelector(m) }),
		Lines: each(l.Lines, func(m networks.CustomLine) cleanup.LineSelector { return cleanup.LineSelector(m) }),
	}
}

func each[A, B any](from []A, to func(A) B) []B {
	var out []B
	for _, x := range from {
		out = append(out, to(x))
	}
	return out
}

// whenFamily returns the condition that pods have the family that a document names; always for "".
func whenFamily(when string) Case {
	return map[string]Case{"ipv4": withIPv4, "ipv6": withIPv6}[when]
}
