package model

import (
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// PodsDependOn reports whether pods of a network lose all or part of their connectivity while a
// task is not right. This holds for kinds that pods' packets need, for the sysctls and modules
// that the network requires, and for its plugins and its conf.
func PodsDependOn(net network.Network, t tasks.Task) bool {
	switch t := t.(type) {
	case tasks.Sysctl:
		key := tasks.SysctlKey(t.Key)
		return slices.ContainsFunc(net.Sysctls,
			func(s network.Sysctl) bool { return s.Required && tasks.SysctlKey(s.Key) == key })
	case tasks.Module:
		return slices.ContainsFunc(net.Modules, func(m network.Module) bool { return !m.Optional && m.Name == t.Name })
	case tasks.File:
		return net.Conf.File != "" && path.Base(t.Path) == net.Conf.File
	case tasks.Archive:
		return true
	}
	return slices.ContainsFunc(t.Owns(), func(key graph.Key) bool { return tasks.UsedByPods(key) })
}
