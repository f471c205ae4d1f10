package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// choices lists the networks by name.
func choices() []choice {
	return append([]choice{
		{"amazonVPC", func(w *Networking) bool { return w.AmazonVPC != nil }, func(w *Networking) []decode.Field { return allocate(&w.AmazonVPC).fields() }},
		{"bridge", func(w *Networking) bool { return w.Bridge != nil }, func(w *Networking) []decode.Field { return allocate(&w.Bridge).fields() }},
		{"calico", func(w *Networking) bool { return w.Calico != nil }, func(w *Networking) []decode.Field { return allocate(&w.Calico).fields() }},
		{"canal", func(w *Networking) bool { return w.Canal != nil }, func(w *Networking) []decode.Field { return allocate(&w.Canal).fields() }},
		{"cilium", func(w *Networking) bool { return w.Cilium != nil }, func(w *Networking) []decode.Field { return allocate(&w.Cilium).fields() }},
		{byoNetwork, func(w *Networking) bool { return w.CNI != nil }, nil},
		{"custom", func(w *Networking) bool { return w.Custom != nil }, func(w *Networking) []decode.Field { return allocate(&w.Custom).fields() }},
		bare("external", func(w *Networking) **Bare { return &w.External }),
		{"flannel", func(w *Networking) bool { return w.Flannel != nil }, func(w *Networking) []decode.Field { return allocate(&w.Flannel).fields() }},
		{"gcp", func(w *Networking) bool { return w.GCP != nil }, func(w *Networking) []decode.Field { allocate(&w.GCP); return nil }},
		{"kindnet", func(w *Networking) bool { return w.Kindnet != nil }, func(w *Networking) []decode.Field { return allocate(&w.Kindnet).fields() }},
		bare("kopeio", func(w *Networking) **Bare { return &w.Kopeio }),
		{"kubeRouter", func(w *Networking) bool { return w.KubeRouter != nil }, func(w *Networking) []decode.Field {
			return []decode.Field{{Name: "useNFTablesForNetpol", Set: decode.OptionalBool(&allocate(&w.KubeRouter).UseNFTablesForNetpol)}}
		}},
		{"kubenet", func(w *Networking) bool { return w.Kubenet != nil }, func(w *Networking) []decode.Field {
			return []decode.Field{{Name: "mtu", Set: decode.MTU(&allocate(&w.Kubenet).MTU)}}
		}},
		{"lyftvpc", func(w *Networking) bool { return w.LyftVPC != nil }, func(w *Networking) []decode.Field { return allocate(&w.LyftVPC).fields() }},
		{"romana", func(w *Networking) bool { return w.Romana != nil }, func(w *Networking) []decode.Field { return allocate(&w.Romana).fields() }},
		{"weave", func(w *Networking) bool { return w.Weave != nil }, func(w *Networking) []decode.Field { return allocate(&w.Weave).fields() }},
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

func (r *reader) networking() decode.Set {
	n := r.node
	w := &n.Networking
	return decode.Into(func() []decode.Field {
		var fields []decode.Field
		for _, c := range choices() {
			fields = append(fields, decode.Field{Name: c.name, Unlisted: slices.Contains(goneNetworks[:], c.name), Set: func(d *decode.Decoder, v *document.Value, at string) {
				if c.name == byoNetwork {
					w.CNI = &n.CNI
					d.Mapping(v, at, n.CNI.fields())
					return
				}
				d.Mapping(v, at, c.fields(w))
			}})
		}
		if r.dialect.Nested {
			fields = append(fields, r.ranges()...)
		}
		fields = append(fields, decode.Field{Name: "multus", Set: decode.Into(func() []decode.Field { return allocate(&w.Multus).fields() })})
		if r.dialect != &kops { // kOps has no word for it
			fields = append(fields, decode.Field{Name: "bridgeNetfilter", Set: bridgeNetfilter(&w.BridgeNetfilter)},
				decode.Field{Name: "switch", Set: decode.Into(func() []decode.Field { return allocate(&w.Switch).fields() })})
		}
		return fields
	})
}

// bridgeNetfilter takes the kernel's own numbers, in quotes or not, or that they are not ours.
func bridgeNetfilter(to *string) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		if v.Kind == document.KindInt && (v.Text == "0" || v.Text == "1") {
			*to = v.Text
			return
		}
		decode.Choice(to, "1", "0", Unmanaged)(d, v, at)
	}
}

func (c *CNI) fields() []decode.Field {
	return []decode.Field{
		{Name: "binDir", Set: decode.AbsolutePath(&c.BinDir)},
		{Name: "confDir", Set: decode.AbsolutePath(&c.ConfDir)},
		{Name: "usesSecondaryIP", Set: decode.Bool(&c.UsesSecondaryIP)},
	}
}

func (b *Bridge) fields() []decode.Field {
	return []decode.Field{
		{Name: "mtu", Set: decode.MTU(&b.MTU)},
		{Name: "hairpin", Set: decode.Bool(&b.Hairpin)},
		{Name: "nodes", Set: bridgeNodes(&b.Nodes)},
	}
}

func bridgeNodes(to *[]Peer) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(p Peer) string { return p.Name })
		decode.List(func(d *decode.Decoder, v *document.Value, at string) {
			p := Peer{Origin: d.Doc.Origin(v.Pos)}
			d.Mapping(v, at, []decode.Field{
				{Name: "name", Set: decode.Text(&p.Name, decode.ValidName)},
				{Name: "address", Set: decode.Addresses(&p.Address)},
				{Name: "podCIDRs", Set: decode.CIDRList(&p.PodCIDRs)},
			})
			if d.Required(v, at, "name") && d.Unique(seen, v.Get("name").Str(), v.Get("name").Pos, at+".name") {
				put(p)
			}
		})(d, v, at)
	}
}

func (f *Flannel) fields() []decode.Field {
	return []decode.Field{
		{Name: "backend", Set: flannelBackend(&f.Backend)},
		{Name: "iptablesResyncSeconds", Set: decode.Number(&f.IptablesResyncSeconds, 1, 86_400)},
		{Name: "disableTxChecksumOffloading", Set: decode.Bool(&f.DisableTxChecksumOffloading)},
	}
}

// flannelBackends are those that a node prepares for. kOps deploys the first two.
var flannelBackends = [...]string{"udp", "vxlan", "host-gw", "wireguard"}

func flannelBackend(to *string) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		if kops := flannelBackends[:2]; d.Doc.Dialect.Lenient && !slices.Contains(kops, v.Str()) && slices.Contains(flannelBackends[2:], v.Str()) {
			d.Bad(v, at, decode.OneOf(kops), fmt.Sprintf("kOps does not deploy %s; a document of %s may name it, for a flannel of your own", v.Text, decode.Strict.APIVersion))
			return
		}
		decode.Choice(to, flannelBackends[:]...)(d, v, at)
	}
}

func (c *Calico) fields() []decode.Field {
	severities := []string{"Debug", "Info", "Warning", "Error", "Fatal", "None", "debug", "info", "warning", "error", "fatal", "critical", "none"}
	return []decode.Field{
		{Name: "registry", Set: decode.Text(&c.Registry, nil)},
		{Name: "version", Set: decode.Text(&c.Version, nil)},
		{Name: "majorVersion", Set: decode.Choice(&c.MajorVersion, "v2", "v3")},
		{Name: "allowIPForwarding", Set: decode.Bool(&c.AllowIPForwarding)},
		{Name: "awsSrcDstCheck", Set: decode.Choice(&c.AWSSrcDstCheck, "Enable", "Disable", "DoNothing")},
		{Name: "bpfEnabled", Set: decode.Bool(&c.BPFEnabled)},
		{Name: "bpfExternalServiceMode", Set: decode.Choice(&c.BPFExternalServiceMode, "Tunnel", "DSR")},
		{Name: "bpfKubeProxyIptablesCleanupEnabled", Set: decode.Bool(&c.BPFKubeProxyIptablesCleanupEnabled)},
		{Name: "bpfLogLevel", Set: decode.Choice(&c.BPFLogLevel, "Off", "Info", "Debug")},
		{Name: "chainInsertMode", Set: decode.Choice(&c.ChainInsertMode, "insert", "append")},
		{Name: "cpuRequest", Set: decode.Text(&c.CPURequest, nil)},
		{Name: "crossSubnet", Set: decode.Bool(&c.CrossSubnet)},
		{Name: "encapsulationMode", Set: decode.Choice(&c.EncapsulationMode, "ipip", "vxlan", "none")},
		{Name: "ipipMode", Set: decode.Choice(&c.IPIPMode, "CrossSubnet", "Always", "Never")},
		{Name: "ipv4AutoDetectionMethod", Set: decode.Text(&c.IPv4AutoDetectionMethod, validDetection)},
		{Name: "ipv6AutoDetectionMethod", Set: decode.Text(&c.IPv6AutoDetectionMethod, validDetection)},
		{Name: "iptablesBackend", Set: decode.Choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{Name: "logSeverityScreen", Set: decode.Choice(&c.LogSeverityScreen, severities...)},
		{Name: "logSeveritySys", Set: decode.Choice(&c.LogSeveritySys, severities...)},
		{Name: "mtu", Set: decode.AutoMTU(&c.MTU)},
		{Name: "nftablesMode", Set: decode.Choice(&c.NFTablesMode, "Enabled", "Disabled", "Auto")},
		{Name: "prometheusMetricsEnabled", Set: decode.Bool(&c.PrometheusMetricsEnabled)},
		{Name: "prometheusMetricsPort", Set: decode.Port(&c.PrometheusMetricsPort)},
		{Name: "prometheusGoMetricsEnabled", Set: decode.Bool(&c.PrometheusGoMetricsEnabled)},
		{Name: "prometheusProcessMetricsEnabled", Set: decode.Bool(&c.PrometheusProcessMetricsEnabled)},
		{Name: "typhaPrometheusMetricsEnabled", Set: decode.Bool(&c.TyphaPrometheusMetricsEnabled)},
		{Name: "typhaPrometheusMetricsPort", Set: decode.Port(&c.TyphaPrometheusMetricsPort)},
		{Name: "typhaReplicas", Set: decode.Number(&c.TyphaReplicas, 0, 10_000)},
		{Name: "vxlanMode", Set: decode.Choice(&c.VXLANMode, "CrossSubnet", "Always", "Never")},
		{Name: "wireguardEnabled", Set: decode.OptionalBool(&c.WireguardEnabled)},
		{Name: "datastore", Set: decode.Choice(&c.Datastore, "kubernetes", "etcd")},
		{Name: "etcd", Set: decode.Into(func() []decode.Field { return allocate(&c.Etcd).fields() })},
	}
}

func (e *CalicoEtcd) fields() []decode.Field {
	return []decode.Field{
		{Name: "endpoints", Set: decode.Texts(&e.Endpoints, decode.ValidEndpoint)},
		{Name: "certificates", Set: decode.Into(func() []decode.Field {
			return []decode.Field{
				{Name: "dir", Set: decode.AbsolutePath(&e.Certificates.Dir)},
				{Name: "ca", Set: decode.Text(&e.Certificates.CA, decode.ValidName)},
				{Name: "keypair", Set: decode.Text(&e.Certificates.Keypair, decode.ValidName)},
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
