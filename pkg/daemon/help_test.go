package daemon

import (
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// wanting returns a set of tasks, as if a store had asked for it.
func wanting(list ...tasks.Task) *desired.State {
	return &desired.State{
		Node:     &config.Node{Cluster: "c", Name: "n"},
		Snapshot: &statestore.Snapshot{Origin: "test", Revision: statestore.Revision{Generation: 1}},
		Pinned:   &desired.Pinned{Network: "test", Recorded: list},
	}
}

func onRoot(root string) reconcile.Pass {
	return reconcile.Pass{Host: host.Options{Root: root}, Log: zap.NewNop()}
}

// converge makes a whole pass on a root, with its ledger.
func converge(t testing.TB, root string, list ...tasks.Task) (*report.Plan, error) {
	t.Helper()
	needs.Root(t) // files belong to root
	return onRoot(root).Converge(t.Context(), wanting(list...))
}

func file(path, content string) tasks.File {
	return tasks.File{Meta: tasks.Meta{From: "test"}, Path: path, Content: []byte(content), Mode: 0o644}
}

func said(p *report.Plan) string {
	var b strings.Builder
	for _, n := range p.Notes {
		b.WriteString(n.Level + ": " + n.Text + "\n")
	}
	for _, s := range p.Steps {
		b.WriteString(s.Key + " " + string(s.State) + ": " + s.Message + "\n")
	}
	return b.String()
}

// reasons returns for each removed key of a plan why it is removed.
func reasons(p *report.Plan) map[string]string {
	out := map[string]string{}
	for _, s := range p.Steps {
		for _, it := range s.Items {
			if it.Op == "-" {
				out[it.Key] = s.Reason
			}
		}
	}
	return out
}
