package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Canal has the fields of kOps' canal, which is Calico's network policy over Flannel's network. It
// also has the backend, which kOps fixed to vxlan and which upstream's manifest leaves to its
// ConfigMap. The node acts on backend and mtu. The rest is for the DaemonSet, and is only recorded
// here. "" and 0 mean Calico's default.
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
		decode.Choice("backend", &c.Backend, "vxlan", "host-gw", "wireguard", "udp").KopsDefault("vxlan"),
		decode.MTU("mtu", &c.MTU),
		decode.Choice("chainInsertMode", &c.ChainInsertMode, "insert", "append"),
		decode.Text("cpuRequest", &c.CPURequest, nil),
		decode.Choice("defaultEndpointToHostAction", &c.DefaultEndpointToHostAction, "ACCEPT", "DROP", "RETURN"),
		decode.Bool("disableTxChecksumOffloading", &c.DisableTxChecksumOffloading),
		decode.OptionalBool("flanneldIptablesForwardRules", &c.FlannelForwardRules),
		not("disableFlannelForwardRules", &c.FlannelForwardRules).Unlisted(), // v1alpha2
		decode.Choice("iptablesBackend", &c.IptablesBackend, "Auto", "Legacy", "NFT"),
		decode.Choice("logSeveritySys", &c.LogSeveritySys, "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "NONE"),
		decode.Bool("prometheusGoMetricsEnabled", &c.PrometheusGoMetricsEnabled),
		decode.Bool("prometheusMetricsEnabled", &c.PrometheusMetricsEnabled),
		decode.Port("prometheusMetricsPort", &c.PrometheusMetricsPort),
		decode.Bool("prometheusProcessMetricsEnabled", &c.PrometheusProcessMetricsEnabled),
		decode.Bool("typhaPrometheusMetricsEnabled", &c.TyphaPrometheusMetricsEnabled),
		decode.Port("typhaPrometheusMetricsPort", &c.TyphaPrometheusMetricsPort),
		decode.Number("typhaReplicas", &c.TyphaReplicas, 0, 10_000),
	}
}

// not reads a boolean that means the opposite of the field that it sets.
func not(name string, to **bool) decode.Field {
	return decode.Field{Name: name, Set: func(v decode.Reading) {
		decode.OptionalBool(name, to).Set(v)
		**to = !**to
	}}
}

// check refuses one metrics port for both Typha and Felix, because they are two servers on one
// host.
func (c *Canal) check(_ *ClusterSettings, r *decode.Reporter) {
	if c.PrometheusMetricsPort == 0 || c.PrometheusMetricsPort != c.TyphaPrometheusMetricsPort {
		return
	}
	r.ErrorAt("spec.networking.canal.typhaPrometheusMetricsPort", document.Diagnostic{
		Summary: fmt.Sprintf("Felix and Typha both serve their metrics on port %d of the host",
			c.PrometheusMetricsPort), Expected: "two ports, such as 9091 and 9093"})
}
