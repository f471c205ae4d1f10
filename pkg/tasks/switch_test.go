package tasks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// between is a host with a unit and pods, as a switch of networks sees it.
type between struct {
	hostfs.Files
	host.Units
	unit  systemd.UnitState
	pods  []cri.Pod
	err   error
	netns []string

	runtime string
}

func (v between) view() host.View {
	return host.View{Files: v, Units: v, Runtime: v, Facts: &host.Facts{Runtime: host.RuntimeFacts{Name: v.runtime}}}
}

func (v between) Unit(context.Context, string) (systemd.UnitState, error) { return v.unit, nil }
func (v between) Pods(context.Context) ([]cri.Pod, error)                 { return slices.Clone(v.pods), v.err }
func (v between) ReadDir(string) ([]string, error)                        { return v.netns, nil }

func TestPauseAndResume(t *testing.T) {
	for name, c := range map[string]struct {
		unit          systemd.UnitState
		pause, resume bool
	}{
		"runs":            {systemd.UnitState{Active: "active"}, true, false},
		"comes up":        {systemd.UnitState{Active: "activating"}, true, false},
		"about to":        {systemd.UnitState{Active: "inactive", Job: true, JobType: "start"}, true, false},
		"its job ended":   {systemd.UnitState{Active: "inactive", Job: true}, true, false},
		"off":             {systemd.UnitState{Active: "inactive"}, false, true},
		"about to end":    {systemd.UnitState{Active: "deactivating", Job: true, JobType: "stop"}, false, true},
		"did not come up": {systemd.UnitState{Active: "failed"}, false, true},
	} {
		pause, err := Pause{Unit: "kubelet.service"}.Plan(t.Context(), between{unit: c.unit}.view())
		if err != nil || (pause != nil) != c.pause || pause != nil && pause.Disruption != MayCutOff {
			t.Errorf("%s: pause plans %+v, %v", name, pause, err)
		}
		resume, err := Resume{Unit: "kubelet.service"}.Plan(t.Context(), between{unit: c.unit}.view())
		if err != nil || (resume != nil) != c.resume {
			t.Errorf("%s: resume plans %+v, %v", name, resume, err)
		}
	}
}

// The line that keeps what a silent runtime runs: switch_evict_pods.go, netnsOfPod.
func TestEvict(t *testing.T) {
	web, agent := cri.Pod{Namespace: "default", Name: "web"}, cri.Pod{Namespace: "kube-system", Name: "flannel", HostNetwork: true, Running: []string{"kube-flannel"}}
	task := Evict{Network: "flannel", Agents: []string{"kube-flannel"}}

	change, err := task.Plan(t.Context(), between{pods: []cri.Pod{web, {Namespace: "kube-system", Name: "proxy", HostNetwork: true, Running: []string{"kube-proxy"}}}}.view())
	if err != nil || change == nil || len(change.Items) != 1 || change.Items[0].Key != "pod:default/web" || change.Disruption != MayCutOff {
		t.Errorf("it plans %+v, %v; want the pod that has an address, and nothing on the node's own network", change, err)
	}
	var runs *AgentRunsError
	if _, err := task.Plan(t.Context(), between{pods: []cri.Pod{web, agent}}.view()); !errors.As(err, &runs) || runs.Pod.Name != "flannel" {
		t.Errorf("while its agent runs: %v", err)
	}
	if change, err := task.Plan(t.Context(), between{pods: []cri.Pod{{Namespace: "kube-system", Name: "flannel", HostNetwork: true}}}.view()); change != nil || err != nil {
		t.Errorf("when its agent ended: %+v, %v", change, err)
	}

	silent := errors.New("connection refused")
	if change, err := task.Plan(t.Context(), between{err: silent, netns: []string{"theirs"}}.view()); change != nil || err != nil {
		t.Errorf("without a runtime and without pods: %+v, %v", change, err)
	}
	for _, netns := range []string{"cni-1", "71c54241-c0c9-4b7d-bbf7-d448f9b9b536"} { // of containerd and of CRI-O
		if _, err := task.Plan(t.Context(), between{err: silent, netns: []string{netns}}.view()); !graph.IsTransient(err) || !errors.Is(err, silent) {
			t.Errorf("with a runtime that is silent, and a pod in %s: %v", netns, err)
		}
	}
	if _, err := task.Plan(t.Context(), between{err: host.ErrNoLiveState, netns: []string{"cni-1"}}.view()); err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "drain the node") {
		t.Errorf("with a pod and no runtime: %v", err)
	}
	if _, err := task.Plan(t.Context(), between{err: host.ErrNoLiveState, netns: []string{"cni-1"}, runtime: "cri-o"}.view()); !graph.IsTransient(err) || !strings.Contains(err.Error(), "start it") {
		t.Errorf("with a pod and a runtime that is stopped: %v", err)
	}
}
