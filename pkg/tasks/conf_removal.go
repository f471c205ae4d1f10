package tasks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// ConfRemoval makes sure that a CNI directory is not left without a conf while there are pods.
type ConfRemoval struct {
	Dir   string
	Going []string // base names that are removed in this run
	// Replaced says that the agent writes another conf.
	Replaced bool
}

// check waits for another conf while there are pods.
func (g ConfRemoval) check(v host.View) error {
	names, err := v.Files.ReadDir(g.Dir)
	if err != nil {
		return fmt.Errorf("list the CNI confs in %s: %w", g.Dir, err)
	}
	confs, err := confFiles(v, g.Dir, names)
	if err != nil {
		return err
	}
	left := slices.ContainsFunc(confs, func(name string) bool { return !slices.Contains(g.Going, name) })
	if left || g.Replaced {
		return nil
	}
	pod, err := livingPod(v)
	if err != nil || pod == "" {
		return err
	}
	return graph.Wait(fmt.Sprintf("another CNI conf in %s: pods live here (%s), and without a conf the runtime could "+
		"not even remove them", g.Dir, pod))
}

// awaitPods waits while there are pods: they send packets by what is removed or restored, or the
// runtime needs it to find the plugins that remove pods.
func awaitPods(v host.View) error {
	pod, err := livingPod(v)
	if err != nil || pod == "" {
		return err
	}
	return graph.Wait(fmt.Sprintf("the pods of this node (%s): they send through it, or their runtime needs "+
		"it to remove them: drain the node or delete its pods", pod))
}

// livingPod returns a path that shows a running pod; "": there is none. It is a runtime's cache
// entry of a pod, or a pod's network namespace. kubelet with docker, and cri-dockerd, have their
// own cache directory (--cni-cache-dir). CRI-O has a namespace also for a pod on the node's own
// network, so only its cache counts.
// https://github.com/containernetworking/cni/blob/v1.3.0/libcni/api.go (CacheDir)
func livingPod(v host.View) (string, error) {
	for _, dir := range []string{"/var/lib/cni/results", "/var/lib/cni/cache/results", netnsDir} {
		names, err := v.Files.ReadDir(dir)
		if errors.Is(err, host.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("look for running pods: %w", err)
		}
		for _, name := range names {
			if dir != netnsDir || strings.HasPrefix(name, "cni-") {
				return path.Join(dir, name), nil
			}
		}
	}
	return "", nil
}
