package tasks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// Evict removes the node's pods that have an address of a network that is being replaced. The
// container runtime removes them and calls the plugins of its present conf, so Evict runs while the
// old conf and plugins are installed. Kubelet must be stopped before; it makes the pods again when
// it starts. Pods on the node's own network stay.
type Evict struct {
	Meta
	Network string
	// Agents are the names of containers that would restore what is removed: while one runs, Evict
	// does nothing.
	Agents []string
}

var _ Task = Evict{}

// The kinds of keys of an eviction: evict:flannel is the task, pod:default/web-1 is one pod that it
// removes.
const (
	KindEvict = "evict"
	KindPod   = "pod"
)

// EvictKey is the key of the task that removes a network's pods from the node.
func EvictKey(network string) graph.Key { return graph.MakeKey(KindEvict, network) }

// Owns implements [Task].
func (t Evict) Owns() []graph.Key { return []graph.Key{EvictKey(t.Network)} }

// Plan implements [Task]. It returns one item for each pod.
func (t Evict) Plan(ctx context.Context, v host.View) (*Change, error) {
	pods, err := PodsWithAddress(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := t.Running(ctx, v); err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, nil
	}
	change := &Change{Reason: "its address is of " + t.Network, Disruption: MayCutOff,
		Unknown: "until kubelet creates no more pods"}
	for _, p := range pods {
		change.Items = append(change.Items, Item{Key: graph.MakeKey(KindPod, p.String()), Op: Remove})
	}
	return change, nil
}

// abreast is how many pods are removed at the same time: a plugin's DEL takes about a second, and a
// node may have a hundred pods.
const abreast = 8

// Apply implements [Task].
func (t Evict) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	pods, err := PodsWithAddress(ctx, h.Live.View())
	if err != nil {
		return err
	}
	errs := make([]error, len(pods))
	var all errgroup.Group
	all.SetLimit(abreast)
	for i, p := range pods {
		all.Go(func() error {
			if err := h.RemovePod(ctx, p.ID); err != nil {
				errs[i] = graph.Transient(fmt.Errorf("remove pod %s: %w", p, err))
			}
			return nil
		})
	}
	return errors.Join(append(errs, all.Wait())...)
}

// PodsWithAddress returns the pods that are not on the node's own network, including those whose
// processes have ended. Where the runtime cannot be asked, that is an error only if there are pods.
func PodsWithAddress(ctx context.Context, v host.View) ([]cri.Pod, error) {
	pods, err := v.Runtime.Pods(ctx)
	if err == nil {
		return slices.DeleteFunc(pods, func(p cri.Pod) bool { return p.HostNetwork }), nil
	}
	names, dirErr := v.Files.ReadDir(netnsDir)
	if IgnoreMissing(dirErr) != nil {
		return nil, fmt.Errorf("look for running pods: %w", dirErr)
	}
	i := slices.IndexFunc(names, netnsOfPod().MatchString)
	if i < 0 {
		return nil, nil
	}
	sign := path.Join(netnsDir, names[i])
	switch name := v.Facts.Runtime.Name; {
	case !errors.Is(err, host.ErrNoLiveState):
		return nil, graph.Transient(fmt.Errorf("pods run here (%s): %w: restart the runtime", sign, err))
	case name != "":
		return nil, graph.Transient(fmt.Errorf("pods run here (%s), and %s does not run, so it cannot remove them: "+
			"start it", sign, name))
	}
	return nil, fmt.Errorf("pods run here (%s), and no runtime answers over CRI to list them: drain the "+
		"node and reboot it", sign)
}

// netnsDir has the network namespaces of pods. After a boot it is empty, and no pod runs.
const netnsDir = "/run/netns"

// netnsOfPod matches the names that containerd (cni-UUID) and CRI-O (UUID) give to namespaces of
// pods.
// https://github.com/cri-o/cri-o/blob/v1.36.1/internal/config/nsmgr/nsmgr_linux.go
// (NewPodNamespaces)
var netnsOfPod = lazyregexp.New(`^(cni-|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$)`)

// AgentRunsError says that a network's own agent still runs on the node.
type AgentRunsError struct {
	Network, Container string
	Pod                cri.Pod
}

func (e *AgentRunsError) Error() string {
	return fmt.Sprintf("the agent of %s still runs here: container %s of pod %s; the agent of that network "+
		"would create again what the switch removes: delete its DaemonSet (kubectl -n %s get daemonsets), "+
		"and wait until the pod is gone",
		e.Network, e.Container, e.Pod, e.Pod.Namespace)
}

// Running returns an [AgentRunsError] while one of the agents runs. It returns nil where none runs
// or the runtime cannot be asked.
func (t Evict) Running(ctx context.Context, v host.View) error {
	pods, err := v.Runtime.Pods(ctx)
	if err != nil {
		return nil // the caller has asked PodsWithAddress before, which reports the error
	}
	for _, p := range pods {
		for _, name := range p.Running {
			if slices.Contains(t.Agents, name) {
				return &AgentRunsError{Network: t.Network, Container: name, Pod: p}
			}
		}
	}
	return nil
}
