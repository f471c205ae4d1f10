package config

// upstream lists the networks that kOps never had. Their fields have the names that the networks
// themselves give them.
func upstream() []choice {
	return []choice{
		{"antrea", func(w *Networking) bool { return w.Antrea != nil }, func(d *decoder, w *Networking) []field { return d.antrea(allocate(&w.Antrea)) }},
		{"azure", func(w *Networking) bool { return w.Azure != nil }, func(d *decoder, w *Networking) []field { return d.azure(allocate(&w.Azure)) }},
		{"coil", func(w *Networking) bool { return w.Coil != nil }, func(d *decoder, w *Networking) []field { return d.coil(allocate(&w.Coil)) }},
		{"hybridnet", func(w *Networking) bool { return w.Hybridnet != nil }, func(d *decoder, w *Networking) []field { return d.hybridnet(allocate(&w.Hybridnet)) }},
		{"kubeOVN", func(w *Networking) bool { return w.KubeOVN != nil }, func(d *decoder, w *Networking) []field { return d.kubeOVN(allocate(&w.KubeOVN)) }},
		{"ovnKubernetes", func(w *Networking) bool { return w.OVNKubernetes != nil }, func(d *decoder, w *Networking) []field { return d.ovnKubernetes(allocate(&w.OVNKubernetes)) }},
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
