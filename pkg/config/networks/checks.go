package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Fill gives the fields of the network that is set their defaults, where no document says them.
func (n *Networking) Fill(s *ClusterSettings, o decode.Origins) {
	if n.Bridge != nil {
		n.Bridge.fill(o)
	}
	if n.Flannel != nil {
		n.Flannel.fill(o)
	}
	if n.Cilium != nil {
		n.Cilium.fill(s, o)
	}
	if n.Multus != nil {
		n.Multus.fill(o)
	}
	if n.Custom != nil {
		n.Custom.fill()
	}
	if n.Canal != nil {
		n.Canal.fill(o)
	}
	if n.Antrea != nil {
		n.Antrea.fill(o)
	}
	if n.Azure != nil {
		n.Azure.fill(o)
	}
	if n.Coil != nil {
		n.Coil.fill(o)
	}
	if n.Hybridnet != nil {
		n.Hybridnet.fill(o)
	}
	if n.KubeOVN != nil {
		n.KubeOVN.fill(o)
	}
	if n.OVNKubernetes != nil {
		n.OVNKubernetes.fill(o)
	}
	if n.KVSwitch != nil {
		n.KVSwitch.fill(o)
	}
	if n.LyftVPC != nil {
		n.LyftVPC.fill(s, o)
	}
	if n.Romana != nil {
		n.Romana.fill(s, o)
	}
	if n.Calico != nil {
		n.Calico.fill(s, o)
	}
}

// Check refuses values that the chosen network refuses or does not work with, and warns of those
// without effect.
func (n *Networking) Check(s *ClusterSettings, r *decode.Reporter) {
	if n.Kubenet != nil {
		n.Kubenet.check(s, r)
	}
	if n.Bridge != nil {
		n.Bridge.check(s, r)
	}
	if n.Calico != nil {
		n.Calico.check(s, r)
	}
	if n.Canal != nil {
		n.Canal.check(r)
	}
	if n.Romana != nil {
		n.Romana.check(s, r)
	}
	if n.Antrea != nil {
		n.Antrea.check(s, r)
	}
	if n.Azure != nil {
		n.Azure.check(r)
	}
	if n.Coil != nil {
		n.Coil.check(r)
	}
	if n.KubeOVN != nil {
		n.KubeOVN.check(s, r)
	}
	if n.OVNKubernetes != nil {
		n.OVNKubernetes.check(s, r)
	}
	if n.Cilium != nil {
		n.Cilium.check(s, r)
	}
	if n.Custom != nil {
		n.Custom.check(s, r)
	}
	if n.Multus != nil {
		n.Multus.check(n, s, r)
	}
	if n.Switch != nil {
		n.Switch.check(n.Name(), r)
	}
	if n.KubeRouter != nil {
		n.KubeRouter.check(s, r)
	}
	if n.Flannel != nil {
		n.Flannel.check(r)
	}
}
