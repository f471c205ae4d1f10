package main

import (
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
)

// obstacles is what keeps the daemon from making this node right, whatever is wrong with it: who
// looks at one key, or at the network, should not wait for a repair that does not come.
type obstacles struct {
	Off    []string       `json:"off,omitempty"` // switches, each with what to do to turn the agent on again
	Paused *report.Paused `json:"paused,omitempty"`
}

func obstaclesOf(p reconcile.Pass) obstacles {
	return obstacles{service.Off(p.Host), p.Session().Paused()}
}

// lines are for eyes; none where nothing does.
func (k obstacles) lines() (out []string) {
	for _, off := range k.Off {
		out = append(out, "the agent is switched off: "+off)
	}
	if k.Paused != nil {
		out = append(out, "nothing is changed here: the node is "+k.Paused.String()+"; `agent resume` ends that")
	}
	return out
}
