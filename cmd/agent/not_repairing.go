package main

import (
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
)

// obstacles is what keeps the daemon from repairing this node, whatever is wrong with it: a person
// who looks at one key, or at the network, should not wait for a repair that cannot come.
type obstacles struct {
	Off    []string       `json:"off,omitempty"` // each says how to turn the agent on again
	Paused *report.Paused `json:"paused,omitempty"`
}

func obstaclesOf(p reconcile.Pass) obstacles {
	return obstacles{service.Off(p.Host), p.Session().Paused()}
}

// lines returns the obstacles as text; none where there is none.
func (k obstacles) lines() (out []string) {
	for _, off := range k.Off {
		out = append(out, "the agent is switched off: "+off)
	}
	if k.Paused != nil {
		out = append(out, "nothing is changed here: the node is "+k.Paused.String()+"; `agent resume` ends that")
	}
	return out
}
