package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// choices lists the networks by name.
func choices() []choice {
	return append([]choice{
		{"amazonVPC", func(w *Networking) bool { return w.AmazonVPC != nil }, func(w *Networking) []field { return allocate(&w.AmazonVPC).fields() }},
		{"bridge", func(w *Networking) bool { return w.Bridge != nil }, func(w *Networking) []field { return allocate(&w.Bridge).fields() }},
		{"calico", func(w *Networking) bool { return w.Calico != nil }, func(w *Networking) []field { return allocate(&w.Calico).fields() }},
		{"canal", func(w *Networking) bool { return w.Canal != nil }, func(w *Networking) []field { return allocate(&w.Canal).fields() }},
		{"cilium", func(w *Networking) bool { return w.Cilium != nil }, func(w *Networking) []field { return allocate(&w.Cilium).fields() }},
		{byoNetwork, func(w *Networking) bool { return w.CNI != nil }, nil},
		{"custom", func(w *Networking) bool { return w.Custom != nil }, func(w *Networking) []field { return allocate(&w.Custom).fields() }},
		bare("external", func(w *Networking) **Bare { return &w.External }),
		{"flannel", func(w *Networking) bool { return w.Flannel != nil }, func(w *Networking) []field { return allocate(&w.Flannel).fields() }},
		{"gcp", func(w *Networking) bool { return w.GCP != nil }, func(w *Networking) []field { allocate(&w.GCP); return nil }},
		{"kindnet", func(w *Networking) bool { return w.Kindnet != nil }, func(w *Networking) []field { return allocate(&w.Kindnet).fields() }},
		bare("kopeio", func(w *Networking) **Bare { return &w.Kopeio }),
		{"kubeRouter", func(w *Networking) bool { return w.KubeRouter != nil }, func(w *Networking) []field {
			return []field{{name: "useNFTablesForNetpol", set: OptionalBool(&allocate(&w.KubeRouter).UseNFTablesForNetpol)}}
		}},
		{"kubenet", func(w *Networking) bool { return w.Kubenet != nil }, func(w *Networking) []field {
			return []field{{name: "mtu", set: MTU(&allocate(&w.Kubenet).MTU)}}
		}},
		{"lyftvpc", func(w *Networking) bool { return w.LyftVPC != nil }, func(w *Networking) []field { return allocate(&w.LyftVPC).fields() }},
		{"romana", func(w *Networking) bool { return w.Romana != nil }, func(w *Networking) []field { return allocate(&w.Romana).fields() }},
		{"weave", func(w *Networking) bool { return w.Weave != nil }, func(w *Networking) []field { return allocate(&w.Weave).fields() }},
	}, append(archived(), upstream()...)...)
}

// SupportedNetworks are the keys that choose a network, by name.
func SupportedNetworks() []string {
	var names []string
	for _, c := range choices() {
		if !slices.Contains(goneNetworks[:], c.name) {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *reader) networking() set {
	n := r.node
	w := &n.Networking
	return Into(func() []field {
		var fields []field
		for _, c := range choices() {
			fields = append(fields, field{name: c.name, unlisted: slices.Contains(goneNetworks[:], c.name), set: func(d *decoder, v *document.Value, at string) {
				if c.name == byoNetwork {
					w.CNI = &n.CNI
					d.mapping(v, at, n.CNI.fields())
					return
				}
				d.mapping(v, at, c.fields(w))
			}})
		}
		if r.dialect.nested {
			fields = append(fields, r.ranges()...)
		}
		fields = append(fields, field{name: "multus", set: Into(func() []field { return allocate(&w.Multus).fields() })})
		if r.dialect != &kops { // kOps has no word for it
			fields = append(fields, field{name: "bridgeNetfilter", set: bridgeNetfilter(&w.BridgeNetfilter)},
				field{name: "switch", set: Into(func() []field { return allocate(&w.Switch).fields() })})
		}
		return fields
	})
}

// bridgeNetfilter takes the kernel's own numbers, in quotes or not, or that they are not ours.
func bridgeNetfilter(to *string) set {
	return func(d *decoder, v *document.Value, at string) {
		if v.Kind == document.KindInt && (v.Text == "0" || v.Text == "1") {
			*to = v.Text
			return
		}
		Choice(to, "1", "0", Unmanaged)(d, v, at)
	}
}

func (c *CNI) fields() []field {
	return []field{
		{name: "binDir", set: AbsolutePath(&c.BinDir)},
		{name: "confDir", set: AbsolutePath(&c.ConfDir)},
		{name: "usesSecondaryIP", set: Bool(&c.UsesSecondaryIP)},
	}
}

func (b *Bridge) fields() []field {
	return []field{
		{name: "mtu", set: MTU(&b.MTU)},
		{name: "hairpin", set: Bool(&b.Hairpin)},
		{name: "nodes", set: bridgeNodes(&b.Nodes)},
	}
}

func bridgeNodes(to *[]Peer) set {
	return func(d *decoder, v *document.Value, at string) {
		seen := make(keys)
		put := merging(to, func(p Peer) string { return p.Name })
		List(func(d *decoder, v *document.Value, at string) {
			p := Peer{Origin: d.doc.Origin(v.Pos)}
			d.mapping(v, at, []field{
				{name: "name", set: Text(&p.Name, validName)},
				{name: "address", set: Addresses(&p.Address)},
				{name: "podCIDRs", set: CIDRList(&p.PodCIDRs)},
			})
			if d.required(v, at, "name") && d.unique(seen, v.Get("name").Str(), v.Get("name").Pos, at+".name") {
				put(p)
			}
		})(d, v, at)
	}
}

func (f *Flannel) fields() []field {
	return []field{
		{name: "backend", set: flannelBackend(&f.Backend)},
		{name: "iptablesResyncSeconds", set: Number(&f.IptablesResyncSeconds, 1, 86_400)},
		{name: "disableTxChecksumOffloading", set: Bool(&f.DisableTxChecksumOffloading)},
	}
}

// flannelBackends are those that a node prepares for. kOps deploys the first two.
var flannelBackends = [...]string{"udp", "vxlan", "host-gw", "wireguard"}

func flannelBackend(to *string) set {
	return func(d *decoder, v *document.Value, at string) {
		if kops := flannelBackends[:2]; d.doc.dialect.lenient && !slices.Contains(kops, v.Str()) && slices.Contains(flannelBackends[2:], v.Str()) {
			d.bad(v, at, oneOf(kops), fmt.Sprintf("kOps does not deploy %s; a document of %s may name it, for a flannel of your own", v.Text, strict.apiVersion))
			return
		}
		Choice(to, flannelBackends[:]...)(d, v, at)
	}
}

func (c *Calico) fields() []field {
	severities := []string{"Debug", "Info", "Warning", "Error", "Fatal", "None", "debug", "info", "warning", "error", "fatal", "critical", "none"}
	return []field{
		{name: "registry", set: Text(&c.Registry, nil)},
		{name: "version", set: Text(&c.Version, nil)},
		{name: "majorVersion", set: Choice(&c.MajorVersion, "v2", "v3")},
		{name: "allowIPForwarding", set: Bool(&c.AllowIPForwarding)},
		{name: "awsSrcDstCheck", set: Choice(&c.AWSSrcDstCheck, "Enable", "Disable", "DoNothing")},
		{name: "bpfEnabled", set: Bool(&c.BPFEnabled)},
		{name: "bpfExternalServiceMode", set: Choice(&c.BPFExternalServiceMode, "Tunnel", "DSR")},
		{name: "bpfKubeProxyIptablesCleanupEnabled", set: Bool(&c.BPFKubeProxyIptablesCleanupEnabled)},
		{name: "bpfLogLevel", set: Choice(&c.BPFLogLevel, "Off", "Info", "Debug")},
		{name: "chainInsertMode", set: Choice(&c.ChainInsertMode, "insert", "append")},
		{name: "cpuRequest", set: Text(&c.CPURequest, nil)},
		{name: "crossSubnet", set: Bool(&c.CrossSubnet)},
		{name: "encapsulationMode", set: Choice(&c.EncapsulationMode, "ipip", "vxlan", "none")},
		{name: "ipipMode", set: Choice(&c.IPIPMode, "CrossSubnet", "Always", "Never")},
		{name: "ipv4AutoDetectionMethod", set: Text(&c.IPv4AutoDetectionMethod, validDetection)},
		{name: "ipv6AutoDetectionMethod", set: Text(&c.IPv6AutoDetectionMethod, validDetection)},
		{name: "iptablesBackend", set: Choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{name: "logSeverityScreen", set: Choice(&c.LogSeverityScreen, severities...)},
		{name: "logSeveritySys", set: Choice(&c.LogSeveritySys, severities...)},
		{name: "mtu", set: AutoMTU(&c.MTU)},
		{name: "nftablesMode", set: Choice(&c.NFTablesMode, "Enabled", "Disabled", "Auto")},
		{name: "prometheusMetricsEnabled", set: Bool(&c.PrometheusMetricsEnabled)},
		{name: "prometheusMetricsPort", set: Port(&c.PrometheusMetricsPort)},
		{name: "prometheusGoMetricsEnabled", set: Bool(&c.PrometheusGoMetricsEnabled)},
		{name: "prometheusProcessMetricsEnabled", set: Bool(&c.PrometheusProcessMetricsEnabled)},
		{name: "typhaPrometheusMetricsEnabled", set: Bool(&c.TyphaPrometheusMetricsEnabled)},
		{name: "typhaPrometheusMetricsPort", set: Port(&c.TyphaPrometheusMetricsPort)},
		{name: "typhaReplicas", set: Number(&c.TyphaReplicas, 0, 10_000)},
		{name: "vxlanMode", set: Choice(&c.VXLANMode, "CrossSubnet", "Always", "Never")},
		{name: "wireguardEnabled", set: OptionalBool(&c.WireguardEnabled)},
		{name: "datastore", set: Choice(&c.Datastore, "kubernetes", "etcd")},
		{name: "etcd", set: Into(func() []field { return allocate(&c.Etcd).fields() })},
	}
}

func (e *CalicoEtcd) fields() []field {
	return []field{
		{name: "endpoints", set: Texts(&e.Endpoints, validEndpoint)},
		{name: "certificates", set: Into(func() []field {
			return []field{
				{name: "dir", set: AbsolutePath(&e.Certificates.Dir)},
				{name: "ca", set: Text(&e.Certificates.CA, validName)},
				{name: "keypair", set: Text(&e.Certificates.Keypair, validName)},
			}
		})},
	}
}

// validDetection accepts Calico's ways to find a node's address.
// https://docs.tigera.io/calico/latest/reference/configure-calico-node
func validDetection(s string) string {
	switch method, argument, has := strings.Cut(s, "="); method {
	case "first-found", "kubernetes-internal-ip":
		if !has {
			return ""
		}
	case "can-reach", "interface", "skip-interface", "cidr":
		if argument != "" {
			return ""
		}
	}
	return "first-found, kubernetes-internal-ip, can-reach=…, interface=…, skip-interface=… or cidr=…"
}
