package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// choices lists the networks by name.
func choices() []choice {
	return append([]choice{
		{"amazonVPC", func(w *Networking) bool { return w.AmazonVPC != nil }, func(d *decoder, w *Networking) []field { return d.amazonVPC(allocate(&w.AmazonVPC)) }},
		{"bridge", func(w *Networking) bool { return w.Bridge != nil }, func(d *decoder, w *Networking) []field { return d.bridge(allocate(&w.Bridge)) }},
		{"calico", func(w *Networking) bool { return w.Calico != nil }, func(d *decoder, w *Networking) []field { return d.calico(allocate(&w.Calico)) }},
		{"canal", func(w *Networking) bool { return w.Canal != nil }, func(d *decoder, w *Networking) []field { return d.canal(allocate(&w.Canal)) }},
		{"cilium", func(w *Networking) bool { return w.Cilium != nil }, func(d *decoder, w *Networking) []field { return d.cilium(allocate(&w.Cilium)) }},
		{byoNetwork, func(w *Networking) bool { return w.CNI != nil }, nil},
		{"custom", func(w *Networking) bool { return w.Custom != nil }, func(d *decoder, w *Networking) []field { return d.custom(allocate(&w.Custom)) }},
		bare("external", func(w *Networking) **Bare { return &w.External }),
		{"flannel", func(w *Networking) bool { return w.Flannel != nil }, func(d *decoder, w *Networking) []field { return d.flannel(allocate(&w.Flannel)) }},
		{"gcp", func(w *Networking) bool { return w.GCP != nil }, func(_ *decoder, w *Networking) []field { allocate(&w.GCP); return nil }},
		{"kindnet", func(w *Networking) bool { return w.Kindnet != nil }, func(d *decoder, w *Networking) []field { return d.kindnet(allocate(&w.Kindnet)) }},
		bare("kopeio", func(w *Networking) **Bare { return &w.Kopeio }),
		{"kubeRouter", func(w *Networking) bool { return w.KubeRouter != nil }, func(d *decoder, w *Networking) []field {
			return []field{{name: "useNFTablesForNetpol", set: d.optionalBool(&allocate(&w.KubeRouter).UseNFTablesForNetpol)}}
		}},
		{"kubenet", func(w *Networking) bool { return w.Kubenet != nil }, func(d *decoder, w *Networking) []field {
			return []field{{name: "mtu", set: d.mtu(&allocate(&w.Kubenet).MTU)}}
		}},
		{"lyftvpc", func(w *Networking) bool { return w.LyftVPC != nil }, func(d *decoder, w *Networking) []field { return d.lyftVPC(allocate(&w.LyftVPC)) }},
		{"romana", func(w *Networking) bool { return w.Romana != nil }, func(d *decoder, w *Networking) []field { return d.romana(allocate(&w.Romana)) }},
		{"weave", func(w *Networking) bool { return w.Weave != nil }, func(d *decoder, w *Networking) []field { return d.weave(allocate(&w.Weave)) }},
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

func (d *decoder) networking(n *Node) set {
	w := &n.Networking
	return d.into(func() []field {
		var fields []field
		for _, c := range choices() {
			fields = append(fields, field{name: c.name, unlisted: slices.Contains(goneNetworks[:], c.name), set: func(v *document.Value, at string) {
				if c.name == byoNetwork {
					w.CNI = &n.CNI
					d.mapping(v, at, d.cni(&n.CNI))
					return
				}
				d.mapping(v, at, c.fields(d, w))
			}})
		}
		if d.doc.dialect.nested {
			fields = append(fields, d.rangesSpec(n)...)
		}
		fields = append(fields, field{name: "multus", set: d.into(func() []field { return d.multus(allocate(&w.Multus)) })})
		if d.doc.dialect != &kops { // kOps has no word for it
			fields = append(fields, field{name: "bridgeNetfilter", set: d.bridgeNetfilter(&w.BridgeNetfilter)},
				field{name: "switch", set: d.into(func() []field { return d.networkSwitch(allocate(&w.Switch)) })})
		}
		return fields
	})
}

// bridgeNetfilter takes the kernel's own numbers, in quotes or not, or that they are not ours.
func (d *decoder) bridgeNetfilter(to *string) set {
	return func(v *document.Value, at string) {
		if v.Kind == document.KindInt && (v.Text == "0" || v.Text == "1") {
			*to = v.Text
			return
		}
		d.choice(to, "1", "0", Unmanaged)(v, at)
	}
}

func (d *decoder) cni(c *CNI) []field {
	return []field{
		{name: "binDir", set: d.absolutePath(&c.BinDir)},
		{name: "confDir", set: d.absolutePath(&c.ConfDir)},
		{name: "usesSecondaryIP", set: d.boolean(&c.UsesSecondaryIP)},
	}
}

func (d *decoder) bridge(b *Bridge) []field {
	return []field{
		{name: "mtu", set: d.mtu(&b.MTU)},
		{name: "hairpin", set: d.boolean(&b.Hairpin)},
		{name: "nodes", set: d.bridgeNodes(&b.Nodes)},
	}
}

func (d *decoder) bridgeNodes(to *[]Peer) set {
	return func(v *document.Value, at string) {
		seen := make(keys)
		put := merging(to, func(p Peer) string { return p.Name })
		d.list(func(v *document.Value, at string) {
			p := Peer{Origin: d.doc.Origin(v.Pos)}
			d.mapping(v, at, []field{
				{name: "name", set: d.text(&p.Name, validName)},
				{name: "address", set: d.addresses(&p.Address)},
				{name: "podCIDRs", set: d.cidrList(&p.PodCIDRs)},
			})
			if d.required(v, at, "name") && d.unique(seen, v.Get("name").Str(), v.Get("name").Pos, at+".name") {
				put(p)
			}
		})(v, at)
	}
}

func (d *decoder) flannel(f *Flannel) []field {
	return []field{
		{name: "backend", set: d.flannelBackend(&f.Backend)},
		{name: "iptablesResyncSeconds", set: d.number(&f.IptablesResyncSeconds, 1, 86_400)},
		{name: "disableTxChecksumOffloading", set: d.boolean(&f.DisableTxChecksumOffloading)},
	}
}

// flannelBackends are those that a node prepares for. kOps deploys the first two.
var flannelBackends = [...]string{"udp", "vxlan", "host-gw", "wireguard"}

func (d *decoder) flannelBackend(to *string) set {
	return func(v *document.Value, at string) {
		if kops := flannelBackends[:2]; d.doc.dialect.lenient && !slices.Contains(kops, v.Str()) && slices.Contains(flannelBackends[2:], v.Str()) {
			d.bad(v, at, oneOf(kops), fmt.Sprintf("kOps does not deploy %s; a document of %s may name it, for a flannel of your own", v.Text, strict.apiVersion))
			return
		}
		d.choice(to, flannelBackends[:]...)(v, at)
	}
}

func (d *decoder) calico(c *Calico) []field {
	severities := []string{"Debug", "Info", "Warning", "Error", "Fatal", "None", "debug", "info", "warning", "error", "fatal", "critical", "none"}
	return []field{
		{name: "registry", set: d.text(&c.Registry, nil)},
		{name: "version", set: d.text(&c.Version, nil)},
		{name: "majorVersion", set: d.choice(&c.MajorVersion, "v2", "v3")},
		{name: "allowIPForwarding", set: d.boolean(&c.AllowIPForwarding)},
		{name: "awsSrcDstCheck", set: d.choice(&c.AWSSrcDstCheck, "Enable", "Disable", "DoNothing")},
		{name: "bpfEnabled", set: d.boolean(&c.BPFEnabled)},
		{name: "bpfExternalServiceMode", set: d.choice(&c.BPFExternalServiceMode, "Tunnel", "DSR")},
		{name: "bpfKubeProxyIptablesCleanupEnabled", set: d.boolean(&c.BPFKubeProxyIptablesCleanupEnabled)},
		{name: "bpfLogLevel", set: d.choice(&c.BPFLogLevel, "Off", "Info", "Debug")},
		{name: "chainInsertMode", set: d.choice(&c.ChainInsertMode, "insert", "append")},
		{name: "cpuRequest", set: d.text(&c.CPURequest, nil)},
		{name: "crossSubnet", set: d.boolean(&c.CrossSubnet)},
		{name: "encapsulationMode", set: d.choice(&c.EncapsulationMode, "ipip", "vxlan", "none")},
		{name: "ipipMode", set: d.choice(&c.IPIPMode, "CrossSubnet", "Always", "Never")},
		{name: "ipv4AutoDetectionMethod", set: d.text(&c.IPv4AutoDetectionMethod, validDetection)},
		{name: "ipv6AutoDetectionMethod", set: d.text(&c.IPv6AutoDetectionMethod, validDetection)},
		{name: "iptablesBackend", set: d.choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{name: "logSeverityScreen", set: d.choice(&c.LogSeverityScreen, severities...)},
		{name: "logSeveritySys", set: d.choice(&c.LogSeveritySys, severities...)},
		{name: "mtu", set: d.autoMTU(&c.MTU)},
		{name: "nftablesMode", set: d.choice(&c.NFTablesMode, "Enabled", "Disabled", "Auto")},
		{name: "prometheusMetricsEnabled", set: d.boolean(&c.PrometheusMetricsEnabled)},
		{name: "prometheusMetricsPort", set: d.port(&c.PrometheusMetricsPort)},
		{name: "prometheusGoMetricsEnabled", set: d.boolean(&c.PrometheusGoMetricsEnabled)},
		{name: "prometheusProcessMetricsEnabled", set: d.boolean(&c.PrometheusProcessMetricsEnabled)},
		{name: "typhaPrometheusMetricsEnabled", set: d.boolean(&c.TyphaPrometheusMetricsEnabled)},
		{name: "typhaPrometheusMetricsPort", set: d.port(&c.TyphaPrometheusMetricsPort)},
		{name: "typhaReplicas", set: d.number(&c.TyphaReplicas, 0, 10_000)},
		{name: "vxlanMode", set: d.choice(&c.VXLANMode, "CrossSubnet", "Always", "Never")},
		{name: "wireguardEnabled", set: d.optionalBool(&c.WireguardEnabled)},
		{name: "datastore", set: d.choice(&c.Datastore, "kubernetes", "etcd")},
		{name: "etcd", set: d.into(func() []field { return d.calicoEtcd(allocate(&c.Etcd)) })},
	}
}

func (d *decoder) calicoEtcd(e *CalicoEtcd) []field {
	return []field{
		{name: "endpoints", set: d.texts(&e.Endpoints, validEndpoint)},
		{name: "certificates", set: d.into(func() []field {
			return []field{
				{name: "dir", set: d.absolutePath(&e.Certificates.Dir)},
				{name: "ca", set: d.text(&e.Certificates.CA, validName)},
				{name: "keypair", set: d.text(&e.Certificates.Keypair, validName)},
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

func validEndpoint(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "an etcd endpoint such as https://etcd-a.internal.example.com:2379 or https://[fd00::1]:2379"
	}
	return ""
}
