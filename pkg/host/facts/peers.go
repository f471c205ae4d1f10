package facts

import (
	"slices"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// peerFiles are files that another agent of Kubernetes nodes leaves.
// nodeup: nodeup/pkg/bootstrap/install.go of kOps. nodeadm: awslabs/amazon-eks-ami,
// nodeadm/internal. kubeadm: cmd/kubeadm/app/constants.
var peerFiles = []struct{ name, file string }{
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

// Peers lists the other agents, whose files are theirs.
func Peers(files hostfs.Files) (out []string) {
	for _, sign := range peerFiles {
		if !slices.Contains(out, sign.name) && isThere(files, sign.file) {
			out = append(out, sign.name)
		}
	}
	return out
}

// isThere says that something is at a path, be it a link that leads nowhere.
func isThere(files hostfs.Files, name string) bool {
	_, err := files.Lstat(name)
	return err == nil
}
