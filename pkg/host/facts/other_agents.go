package facts

import (
	"slices"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// agentFiles are files that show another node agent. Sources: nodeup/pkg/bootstrap/install.go of
// kOps for nodeup; nodeadm/internal of awslabs/amazon-eks-ami for nodeadm;
// cmd/kubeadm/app/constants for kubeadm.
var agentFiles = []struct{ name, file string }{
	{"nodeup", "/etc/systemd/system/kops-configuration.service"},
	{"nodeup", "/lib/systemd/system/kops-configuration.service"},
	{"nodeup", "/opt/kops/bin/nodeup"},
	{"nodeadm", "/etc/systemd/system/nodeadm-run.service"},
	{"nodeadm", "/etc/systemd/system/nodeadm-config.service"},
	{"nodeadm", "/etc/eks/kubelet/environment"},
	{"nodeadm", "/run/eks/nodeadm"},
	{"kubeadm", "/var/lib/kubelet/kubeadm-flags.env"},
	{"kubeadm", "/etc/kubernetes/admin.conf"},
}

// OtherAgents lists the other node agents, whose files belong to them.
func OtherAgents(files hostfs.Files) (out []string) {
	for _, sign := range agentFiles {
		if !slices.Contains(out, sign.name) && isThere(files, sign.file) {
			out = append(out, sign.name)
		}
	}
	return out
}

// isThere reports whether a path exists, even as a symlink to nothing.
func isThere(files hostfs.Files, name string) bool {
	_, err := files.Lstat(name)
	return err == nil
}
