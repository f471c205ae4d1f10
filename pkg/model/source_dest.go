package model

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// sourceDest turns EC2's source/destination check off, where a document wants the agent to. Kubelet
// does not wait for it: an API in the cloud that is away is no reason to keep a node from its
// cluster.
func (b *builder) sourceDest() error {
	const at = "spec.aws.sourceDestCheck"
	if b.in.Node.AWS.SourceDestCheck == config.DisableCheck {
		b.add(tasks.SourceDestCheck{Meta: tasks.Meta{From: b.view.Origin(at),
			Why: "pods' packets are routed through the instance", At: graph.AfterKubelet}, EC2: b.in.EC2})
	}
	return nil
}
