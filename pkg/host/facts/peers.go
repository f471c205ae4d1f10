package facts

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

// peers lists the other agents, whose files are theirs.
func (g gatherer) peers() {
	last := ""
	for _, sign := range peerFiles {
		if sign.name == last {
			continue
		}
		if _, err := g.from.files.Lstat(sign.file); err == nil {
			g.facts.Peers = append(g.facts.Peers, sign.name)
			last = sign.name
		}
	}
}
