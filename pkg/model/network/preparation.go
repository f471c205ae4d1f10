package network

import "slices"

// Preparation is what the agent prepares on a node for a network that a DaemonSet brings. The agent
// keeps it right after the documents hand the network over to its owner (`cni: {}`), because the
// DaemonSet still needs it.
type Preparation struct {
	Of         string     `json:"of"` // the network
	Modules    []Module   `json:"modules,omitempty"`
	Sysctls    []Sysctl   `json:"sysctls,omitempty"`
	Mounts     []Mount    `json:"mounts,omitempty"`
	SharedHost SharedHost `json:"sharedHost,omitzero"`
}

// Prepares returns what the network needs prepared on this node. It evaluates all conditions. It
// returns nil for a network that no DaemonSet brings.
func (n Network) Prepares(in Input) *Preparation {
	if n.Conf.Writer != WriterDaemonSet {
		return nil
	}
	p := &Preparation{Of: n.Name, SharedHost: n.SharedHost}
	p.SharedHost.ENIs, p.SharedHost.ENIsWhen, p.SharedHost.ENIsIf = n.SharedHost.TakesENIs(in), "", nil
	for _, m := range n.Modules {
		if m.Applies(in) {
			m.Case = Case{}
			p.Modules = append(p.Modules, m)
		}
	}
	for _, s := range n.Sysctls {
		if s.Applies(in) {
			s.Case = Case{}
			p.Sysctls = append(p.Sysctls, s)
		}
	}
	for _, m := range n.Mounts {
		if m.Applies(in) {
			m.Case = Case{}
			p.Mounts = append(p.Mounts, m)
		}
	}
	return p
}

// WithPrepared returns the network with what a node still keeps prepared for a handed-over one.
// Where both need the same thing, the network's own entry counts.
func (n Network) WithPrepared(p *Preparation) Network {
	if p == nil {
		return n
	}
	n.Modules = besides(p.Modules, n.Modules, func(m Module) string { return m.Name })
	n.Sysctls = besides(p.Sysctls, n.Sysctls, func(s Sysctl) string { return s.Key })
	n.Mounts = besides(p.Mounts, n.Mounts, func(m Mount) string { return m.Where })
	own, theirs := n.SharedHost, p.SharedHost
	n.SharedHost = SharedHost{
		Links: slices.Concat(theirs.Links, own.Links), Routes: theirs.Routes || own.Routes,
		MAC:  slices.Concat(theirs.MAC, own.MAC),
		ENIs: theirs.ENIs || own.ENIs, Aliases: theirs.Aliases || own.Aliases,
		Firewall: theirs.Firewall || own.Firewall,
		Others:   slices.Concat(theirs.Others, own.Others), ENIsIf: own.ENIsIf,
	}
	return n
}

// besides returns the entries of theirs that own does not have, and then own.
func besides[T any](theirs, own []T, name func(T) string) []T {
	has := func(it T) bool {
		return slices.ContainsFunc(own, func(o T) bool { return name(o) == name(it) })
	}
	return slices.Concat(slices.DeleteFunc(slices.Clone(theirs), has), own)
}
