package model

import "github.com/netwright/netwright/pkg/tasks"

// mounts adds the file systems that the network's pods expect. A file system that is mounted
// already stays as it is. The mount task checks that, not the facts, because our own mount would
// change the facts.
func (b *builder) mounts() error {
	for _, m := range b.net.Mounts {
		if m.Applies(b.view) {
			b.add(tasks.Mount{Meta: b.view.Meta("pods of " + b.net.Name + " use it"),
				What: m.What, Where: m.Where, Type: m.Type, Description: m.Type + " for " + b.net.Name})
		}
	}
	return nil
}
