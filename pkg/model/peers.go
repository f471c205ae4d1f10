package model

import "github.com/netwright/netwright/pkg/model/network"

// peers notes other agents that live on the host: their files are theirs, ours have names of our
// own, and where both set the same thing people must choose.
func (b *builder) peers() {
	for _, p := range b.in.Facts.Peers {
		text, known := map[string]string{
			"nodeup": "its /etc/sysctl.d/99-k8s-general.conf, /opt/cni/bin and CNI settings of kubelet and " +
				"containerd stay; it writes them again at each boot",
			"nodeadm": "its CNI and kubelet files stay; it writes them again at each boot",
			"kubeadm": "its kubelet drop-in stays; our flags go beside it",
		}[p]
		if !known {
			text = "its files stay"
		}
		b.note(network.Info, "", "%s manages this node too: %s", p, text)
	}
}
