package model

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// sourceDest turns off EC2's source/destination check if a document wants that. kubelet does not
// wait for it: a cloud API that does not answer must not keep a node out of its cluster.
func (b *builder) sourceDest() error {
	const at = "spec.aws.sourceDestCheck"
	if b.in.Node.AWS.SourceDestCheck == config.DisableCheck {
		b.add(tasks.SourceDestCheck{Meta: tasks.Meta{From: b.view.Origin(at),
			Why: "pods' packets are routed through the instance", At: graph.AfterKubelet}, EC2: b.in.EC2})
	}
	return nil
}
