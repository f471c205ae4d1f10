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
	// Backend: Sets flannel's backend, which carries packets between nodes.
	Backend string `json:"backend"`
	// MTU: Says the MTU of the pods' links in bytes, which Canal's own configuration sets. `agent
	// verify` compares both. Without it, the MTU is flanneld's.
	MTU int `json:"mtu,omitempty"`
	// ChainInsertMode: Sets whether Felix puts its rules before the rules of others (insert) or
	// after them (append). Only the DaemonSet uses it.
	ChainInsertMode string `json:"chainInsertMode,omitempty"`
	// CPURequest: Sets the CPU request of calico-node, such as 100m. Only the DaemonSet uses it.
	CPURequest string `json:"cpuRequest,omitempty"`
	// DefaultEndpointToHostAction: Sets what happens to pods' packets to their own node. Only the
	// DaemonSet uses it.
	DefaultEndpointToHostAction string `json:"defaultEndpointToHostAction,omitempty"`
	// DisableTxChecksumOffloading: true turns off checksum offloading on the VXLAN link, for
	// kernels that compute wrong checksums. Only the DaemonSet uses it.
	DisableTxChecksumOffloading bool `json:"disableTxChecksumOffloading,omitempty"`
	// FlannelForwardRules: true lets flanneld accept forwarded packets of pods, and is the default.
	// Only the DaemonSet uses it.
	FlannelForwardRules *bool `json:"flanneldIptablesForwardRules,omitempty"`
	// IptablesBackend: Sets which iptables Felix writes. Only the DaemonSet uses it.
	IptablesBackend string `json:"iptablesBackend,omitempty"`
	// LogSeveritySys: Sets what Felix logs to syslog. Only the DaemonSet uses it.
	LogSeveritySys string `json:"logSeveritySys,omitempty"`
	// PrometheusGoMetricsEnabled: true adds metrics of Go's runtime to Felix' metrics. Only the
	// DaemonSet uses it.
	PrometheusGoMetricsEnabled bool `json:"prometheusGoMetricsEnabled,omitempty"`
	// PrometheusMetricsEnabled: true lets Felix serve metrics. Only the DaemonSet uses it.
	PrometheusMetricsEnabled bool `json:"prometheusMetricsEnabled,omitempty"`
	// PrometheusMetricsPort: Sets the port where Felix serves metrics. Only the DaemonSet uses it.
	PrometheusMetricsPort int `json:"prometheusMetricsPort,omitempty"`
	// PrometheusProcessMetricsEnabled: true adds metrics of the process to Felix' metrics. Only the
	// DaemonSet uses it.
	PrometheusProcessMetricsEnabled bool `json:"prometheusProcessMetricsEnabled,omitempty"`
	// TyphaPrometheusMetricsEnabled: true lets Typha serve metrics. Only its Deployment uses it.
	TyphaPrometheusMetricsEnabled bool `json:"typhaPrometheusMetricsEnabled,omitempty"`
	// TyphaPrometheusMetricsPort: Sets the port where Typha serves metrics. Only its Deployment
	// uses it.
	TyphaPrometheusMetricsPort int `json:"typhaPrometheusMetricsPort,omitempty"`
	// TyphaReplicas: Sets the number of Typhas. 0 means none.
	TyphaReplicas int `json:"typhaReplicas,omitempty"`
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
