package model

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// conf adds the CNI conf of the network. The conf comes after everything that a pod needs
// (plugins, links, addresses, routes, tables, the network's sysctls), because the runtime reports
// the node's network as ready as soon as a conf exists. conf also adds the check that the runtime
// uses the conf. That check runs after kubelet may start.
func (b *builder) conf() {
	if b.built.Conf != nil {
		conf := *b.built.Conf
		conf.Requires = append(conf.Requires, b.confNeeds()...)
		b.add(conf)
		if b.built.Meta != nil {
			meta := *b.built.Meta
			meta.Requires = append(append(meta.Requires, conf.Requires...), tasks.FileKey(conf.Path))
			b.add(meta)
		}
	}
	if b.built.Wait != nil {
		wait := *b.built.Wait
		wait.From, wait.Why, wait.At = b.view.NetworkOrigin(), "the conf that the runtime uses", graph.AfterKubelet
		if b.built.Conf != nil {
			wait.Requires = append(wait.Requires, tasks.FileKey(b.built.Conf.Path))
		} else { // the check also looks at the plugins: a pass must first repair them
			wait.Requires = append(wait.Requires, b.pluginFiles()...)
		}
		b.add(wait)
	}
}

// pluginFiles returns the keys of all plugin files that the tasks install.
func (b *builder) pluginFiles() (out []graph.Key) {
	for _, t := range b.tasks {
		if a, ok := t.(tasks.Archive); ok {
			out = append(out, pluginKeys(a)...)
		}
	}
	return out
}

func (b *builder) confNeeds() []graph.Key {
	out := b.pluginFiles()
	for _, s := range b.networkSysctls() {
		out = append(out, tasks.SysctlKey(s.Key))
	}
	for _, t := range b.built.Tasks {
		if t.Base().At == graph.BeforeKubelet {
			out = append(out, t.Owns()...)
		}
	}
	return out
}
