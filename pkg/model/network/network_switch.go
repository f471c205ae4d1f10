package network

import (
	"cmp"
	"fmt"
)

// Switch describes what happens when a node changes from one network to another.
type Switch struct {
	From, To Network
	// Safe says that the switch needs no permission. It starts as soon as no pod on the node has an
	// address of From.
	Safe   bool
	Reason string // why it is safe, or what it disrupts
	// Stays says that the things of From stay on the node, because the network's own agent goes on
	// using them.
	Stays bool
}

// Between decides whether a switch is safe, and why.
//
// kOps calls kubenet → CNI safe, and CNI ↔ CNI usually disruptive:
// https://kops.sigs.k8s.io/networking/#switching-between-networking-providers
func Between(from, to Network) Switch {
	s := Switch{From: from, To: to}
	switch {
	case to.Name == "cni" && s.From.Conf.Writer == WriterDaemonSet:
		s.Safe, s.Stays = true, true
		s.Reason = fmt.Sprintf("from now on the network is yours, and %s's own DaemonSet goes on with it", from.Name)
	case s.From.SafeToReplace != "":
		s.Safe, s.Reason = true, s.From.SafeToReplace
	case from.Name == "cni":
		s.Reason = "it is not known here which network ran under `cni: {}`: its pods lose their network, and you " +
			"must remove what it leaves (or name it in switch.from)"
	default:
		s.Reason = fmt.Sprintf("pods of %s on this node lose their network and are made again; they and those of "+
			"nodes that still have %s do not reach each other", from.Name, from.Name)
	}
	return s
}

// Named returns the network of that name. For a name that this version does not know, only the Name
// field is set.
func Named(name string) Network {
	n, _ := Find(name)
	n.Name = cmp.Or(n.Name, name)
	return n
}

// WithConf returns the name of the network whose conf has this base name; "" if no known network
// has it.
func WithConf(file string) string {
	for _, n := range All() {
		if file != "" && n.Conf.File == file {
			return n.Name
		}
	}
	return ""
}
