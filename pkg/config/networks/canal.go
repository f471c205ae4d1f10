package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Canal is kOps' canal, policy by Calico over Flannel's network; and the backend, which kOps fixed
// to vxlan and upstream's manifest leaves to its ConfigMap. The node acts on backend and mtu; the
// rest is for the DaemonSet, and only recorded here. "" and 0 mean: Calico's default.
// https://github.com/kubernetes/kops/blob/v1.27.0/pkg/apis/kops/networking.go, CanalNetworkingSpec
type Canal struct {
	Backend string `json:"backend"`       // of flannel: what carries packets between nodes
	MTU     int    `json:"mtu,omitempty"` // of the pods' links; not said: flanneld's
	// whether Felix puts its rules before those of others or after; for its DaemonSet
	ChainInsertMode string `json:"chainInsertMode,omitempty"`
	CPURequest      string `json:"cpuRequest,omitempty"` // of calico-node, such as 100m; for its DaemonSet
	// what becomes of pods' packets to their own node; for its DaemonSet
	DefaultEndpointToHostAction string `json:"defaultEndpointToHostAction,omitempty"`
	// of the VXLAN link, for kernels that compute wrong checksums; for its DaemonSet
	DisableTxChecksumOffloading bool `json:"disableTxChecksumOffloading,omitempty"`
	// flanneld accepts forwarded packets of pods; not said: yes. For its DaemonSet
	FlannelForwardRules *bool  `json:"flanneldIptablesForwardRules,omitempty"`
	IptablesBackend     string `json:"iptablesBackend,omitempty"` // which iptables Felix writes; for its DaemonSet
	LogSeveritySys      string `json:"logSeveritySys,omitempty"`  // what Felix logs to syslog; for its DaemonSet
	// with metrics of Go's runtime; for its DaemonSet
	PrometheusGoMetricsEnabled bool `json:"prometheusGoMetricsEnabled,omitempty"`
	// Felix serves metrics; for its DaemonSet
	PrometheusMetricsEnabled bool `json:"prometheusMetricsEnabled,omitempty"`
	// where Felix serves metrics; for its DaemonSet
	PrometheusMetricsPort int `json:"prometheusMetricsPort,omitempty"`
	// with metrics of the process; for its DaemonSet
	PrometheusProcessMetricsEnabled bool `json:"prometheusProcessMetricsEnabled,omitempty"`
	// Typha serves metrics; for its Deployment
	TyphaPrometheusMetricsEnabled bool `json:"typhaPrometheusMetricsEnabled,omitempty"`
	// where Typha serves metrics; for its Deployment
	TyphaPrometheusMetricsPort int `json:"typhaPrometheusMetricsPort,omitempty"`
	TyphaReplicas              int `json:"typhaReplicas,omitempty"` // how many Typhas there are; 0 is none
}

func (c *Canal) fields() []decode.Field {
	return []decode.Field{
		{Name: "backend", Set: decode.Choice(&c.Backend, "vxlan", "host-gw", "wireguard", "udp")},
		{Name: "mtu", Set: decode.MTU(&c.MTU)},
		{Name: "chainInsertMode", Set: decode.Choice(&c.ChainInsertMode, "insert", "append")},
		{Name: "cpuRequest", Set: decode.Text(&c.CPURequest, nil)},
		{Name: "defaultEndpointToHostAction",
			Set: decode.Choice(&c.DefaultEndpointToHostAction, "ACCEPT", "DROP", "RETURN")},
		{Name: "disableTxChecksumOffloading", Set: decode.Bool(&c.DisableTxChecksumOffloading)},
		{Name: "flanneldIptablesForwardRules", Set: decode.OptionalBool(&c.FlannelForwardRules)},
		{Name: "disableFlannelForwardRules", Set: not(&c.FlannelForwardRules), Unlisted: true}, // v1alpha2
		{Name: "iptablesBackend", Set: decode.Choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{Name: "logSeveritySys",
			Set: decode.Choice(&c.LogSeveritySys, "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "NONE")},
		{Name: "prometheusGoMetricsEnabled", Set: decode.Bool(&c.PrometheusGoMetricsEnabled)},
		{Name: "prometheusMetricsEnabled", Set: decode.Bool(&c.PrometheusMetricsEnabled)},
		{Name: "prometheusMetricsPort", Set: decode.Port(&c.PrometheusMetricsPort)},
		{Name: "prometheusProcessMetricsEnabled", Set: decode.Bool(&c.PrometheusProcessMetricsEnabled)},
		{Name: "typhaPrometheusMetricsEnabled", Set: decode.Bool(&c.TyphaPrometheusMetricsEnabled)},
		{Name: "typhaPrometheusMetricsPort", Set: decode.Port(&c.TyphaPrometheusMetricsPort)},
		{Name: "typhaReplicas", Set: decode.Number(&c.TyphaReplicas, 0, 10_000)},
	}
}

// not takes a boolean that says the opposite of what is kept.
func not(to **bool) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		decode.OptionalBool(to)(d, v, at)
		**to = !**to
	}
}

func (c *Canal) fill(_ *ClusterSettings, o decode.Origins) {
	decode.Fill(o, "spec.networking.canal.backend", document.KopsDefault, &c.Backend, "vxlan")
}

// check: Typha's port and Felix' are two servers' on one host.
func (c *Canal) check(_ *Networking, _ *ClusterSettings, r *decode.Reporter) {
	if c.PrometheusMetricsPort == 0 || c.PrometheusMetricsPort != c.TyphaPrometheusMetricsPort {
		return
	}
	r.ErrorAt("spec.networking.canal.typhaPrometheusMetricsPort", document.Diagnostic{
		Summary: fmt.Sprintf("Felix and Typha both serve their metrics on port %d of the host",
			c.PrometheusMetricsPort), Expected: "two ports, such as 9091 and 9093"})
}
