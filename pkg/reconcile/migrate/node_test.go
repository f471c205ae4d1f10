package migrate

import (
	"context"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
)

// these has the pods of a runtime.
type these []cri.Pod

func (pods these) Pods(context.Context) ([]cri.Pod, error) { return slices.Clone(pods), nil }

// running has units that are all in one state.
type running struct {
	host.Units
	state systemd.UnitState
}

func (u running) Unit(context.Context, string) (systemd.UnitState, error) { return u.state, nil }

// nodeOver returns a host with pods, a kubelet and these files, with all that a switch looks at.
func nodeOver(t *testing.T, files map[string]string, pods ...cri.Pod) host.View {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		hostroot.Put(t, root, path, content)
	}
	live, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { live.Close() })
	v := live.View()
	v.Facts = &host.Facts{Kubelet: host.KubeletFacts{Unit: "kubelet.service"}}
	v.Runtime = these(pods)
	v.Units = running{v.Units, systemd.UnitState{Load: "loaded", Active: "active"}}
	return v
}

// knows returns a ledger that has a network and nothing else.
func knows(t *testing.T, name string) *ledger.Ledger {
	t.Helper()
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	led := ledger.Load(h.Live.Files)
	if name != "" {
		if err := led.Commit(t.Context(), h.Files, ledger.Batch{Head: ledger.Head{Network: ledger.Network{Name: name, PodCIDRs: "10.244.0.0/16,fd00:244::/48"}}}); err != nil {
			t.Fatal(err)
		}
	}
	return led
}

// wants returns a node whose documents want flannel, with this spec.networking.switch.
func wants(t *testing.T, spec string) *desired.State {
	t.Helper()
	text := "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: c\nspec:\n  kubernetesVersion: 1.31.2\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n  networking:\n    " + spec + "\n"
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: []byte(text)}}, config.Select{Node: "n"})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return &desired.State{Node: node, Snapshot: &statestore.Snapshot{Revision: statestore.Revision{Generation: 7, Digest: "d"}}}
}
