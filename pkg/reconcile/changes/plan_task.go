package changes

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/tasks"
)

// peerFiles are the paths that another agent of the node writes. It would write them again, so that
// both agents would change them for ever. A path that ends with a slash stands for all below it.
// nodeup: kOps, nodeup/pkg/model (sysctls.go, kubelet.go, containerd.go). nodeadm:
// awslabs/amazon-eks-ami, nodeadm/internal. kubeadm: cmd/kubeadm/app/constants and the kubelet
// drop-in of the packages.
var peerFiles = map[string][]string{
	"nodeup": {
		"/etc/sysctl.d/99-k8s-general.conf", "/etc/sysconfig/kubelet", "/etc/sysconfig/containerd",
		"/etc/sysconfig/kops-configuration",
		"/etc/containerd/config.toml", "/etc/containerd/config-kops.toml", "/etc/containerd/config-cni.template",
		"/var/lib/kubelet/kubelet.conf", "/var/lib/kubelet/kubeconfig", "/etc/kubernetes/",
		"/etc/systemd/system/kops-configuration.service", "/etc/systemd/system/kubelet.service",
		"/etc/systemd/system/containerd.service",
		"/lib/systemd/system/kops-configuration.service", "/lib/systemd/system/kubelet.service",
		"/lib/systemd/system/containerd.service",
	},
	"nodeadm": {
		"/etc/eks/", "/etc/kubernetes/", "/var/lib/kubelet/kubeconfig", "/etc/containerd/config.toml",
		"/etc/systemd/system/kubelet.service", "/etc/systemd/system/nodeadm-run.service",
		"/etc/systemd/system/nodeadm-config.service",
	},
	"kubeadm": {
		"/etc/kubernetes/", "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env",
		"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
		"/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
	},
}

// peerUnits are the units that belong to another agent.
var peerUnits = map[string][]string{
	"nodeup":  {"kops-configuration.service"},
	"nodeadm": {"nodeadm-run.service", "nodeadm-config.service"},
}

// PlanTask returns what a task would change. A task that is refused or cannot be made fails. What
// belongs to another agent on this node is reported and not changed.
func PlanTask(ctx context.Context, t tasks.Task, v host.View) (*tasks.Change, error) {
	meta := t.Base()
	if meta.Refused != "" {
		return nil, graph.Permanent(&RefusedError{why: meta.Refused, origin: meta.From})
	}
	c, err := makable(ctx, t, v)
	if err != nil && model.Asked(meta) && hostpath.IsBlocked(err) {
		return nil, &HostError{err}
	}
	return c, err
}

// makable returns what a task would change, or an error if that cannot be made here.
func makable(ctx context.Context, t tasks.Task, v host.View) (*tasks.Change, error) {
	c, err := PlanWithRetry(ctx, t, v)
	if err != nil || c == nil || c.NotApplicable != "" {
		return c, err
	}
	for _, it := range c.Items {
		if peer := peerOf(v.Facts.Peers, it.Key); peer != "" {
			c.NotApplicable = peer + "'s, which writes it again at each boot: reported, not changed; change " +
				"it in the configuration of that program"
			c.Pending, c.Effects = nil, nil
			return c, nil
		}
	}
	if err := checkPaths(ctx, v, t, c); err != nil {
		return nil, err
	}
	return c, nil
}

// peerOf returns to which of the other agents on this node a key belongs, or "".
func peerOf(peers []string, key graph.Key) string {
	for _, peer := range peers {
		if key.Kind() == tasks.KindUnit && slices.Contains(peerUnits[peer], key.Name()) {
			return peer
		}
		name := tasks.FileOf(key)
		for _, p := range peerFiles[peer] {
			if p == name || strings.HasSuffix(p, "/") && (strings.HasPrefix(name, p) || path.Clean(p) == name) {
				return peer
			}
		}
	}
	return ""
}

// PlanWithRetry plans a task. A plan reads the same thing several times, and another program may
// remove it between two reads. The task is then planned again, at most twice. If each attempt
// fails, the cause is another one.
func PlanWithRetry(ctx context.Context, t tasks.Task, v host.View) (c *tasks.Change, err error) {
	for range 3 {
		if c, err = t.Plan(ctx, v); !errors.Is(err, host.ErrNotExist) {
			break
		}
	}
	return c, err
}

// OfPeers reports whether a key belongs to one of these agents.
func OfPeers(peers []string, key graph.Key) bool { return peerOf(peers, key) != "" }
