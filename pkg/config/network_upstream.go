package config

import "github.com/netwright/netwright/pkg/config/decode"

// upstream lists the networks that kOps never had. Their fields have the names that the networks
// themselves give them.
func upstream() []choice {
	return []choice{
		{"antrea", func(w *Networking) bool { return w.Antrea != nil }, func(w *Networking) []decode.Field { return allocate(&w.Antrea).fields() }},
		{"azure", func(w *Networking) bool { return w.Azure != nil }, func(w *Networking) []decode.Field { return allocate(&w.Azure).fields() }},
		{"coil", func(w *Networking) bool { return w.Coil != nil }, func(w *Networking) []decode.Field { return allocate(&w.Coil).fields() }},
		{"hybridnet", func(w *Networking) bool { return w.Hybridnet != nil }, func(w *Networking) []decode.Field { return allocate(&w.Hybridnet).fields() }},
		{"kubeOVN", func(w *Networking) bool { return w.KubeOVN != nil }, func(w *Networking) []decode.Field { return allocate(&w.KubeOVN).fields() }},
		{"ovnKubernetes", func(w *Networking) bool { return w.OVNKubernetes != nil }, func(w *Networking) []decode.Field { return allocate(&w.OVNKubernetes).fields() }},
	}
}

func (n *Node) fillUpstream() {
	n.fillAntrea()
	n.fillAzure()
	n.fillCoil()
	n.fillOVN()
}

// upstream checks what each of them refuses at its start.
func (v *validator) upstream() {
	v.antrea()
	v.azure()
	v.coil()
	v.ovn()
}
