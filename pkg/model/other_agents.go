package model

import "github.com/netwright/netwright/pkg/model/network"

// peers adds a note about each other agent that manages this node (nodeup, nodeadm, kubeadm). Its
// files stay as they are, and ours have their own names. Where both set the same thing, the
// administrator must decide.
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
