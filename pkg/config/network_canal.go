package config

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/document"
)

// Canal is kOps' canal, policy by Calico over Flannel's network; and the backend, which kOps fixed
// to vxlan and upstream's manifest leaves to its ConfigMap. The node acts on backend and mtu; the
// rest is for the DaemonSet, and only recorded here. "" and 0 mean: Calico's default.
// https://github.com/kubernetes/kops/blob/v1.27.0/pkg/apis/kops/networking.go, CanalNetworkingSpec
type Canal struct {
	Backend                         string `json:"backend"`                                   // of flannel: what carries packets between nodes
	MTU                             int    `json:"mtu,omitempty"`                             // of the pods' links; not said: flanneld's
	ChainInsertMode                 string `json:"chainInsertMode,omitempty"`                 // whether Felix puts its rules before those of others or after; for its DaemonSet
	CPURequest                      string `json:"cpuRequest,omitempty"`                      // of calico-node, such as 100m; for its DaemonSet
	DefaultEndpointToHostAction     string `json:"defaultEndpointToHostAction,omitempty"`     // what becomes of pods' packets to their own node; for its DaemonSet
	DisableTxChecksumOffloading     bool   `json:"disableTxChecksumOffloading,omitempty"`     // of the VXLAN link, for kernels that compute wrong checksums; for its DaemonSet
	FlannelForwardRules             *bool  `json:"flanneldIptablesForwardRules,omitempty"`    // flanneld accepts forwarded packets of pods; not said: yes. For its DaemonSet
	IptablesBackend                 string `json:"iptablesBackend,omitempty"`                 // which iptables Felix writes; for its DaemonSet
	LogSeveritySys                  string `json:"logSeveritySys,omitempty"`                  // what Felix logs to syslog; for its DaemonSet
	PrometheusGoMetricsEnabled      bool   `json:"prometheusGoMetricsEnabled,omitempty"`      // with metrics of Go's runtime; for its DaemonSet
	PrometheusMetricsEnabled        bool   `json:"prometheusMetricsEnabled,omitempty"`        // Felix serves metrics; for its DaemonSet
	PrometheusMetricsPort           int    `json:"prometheusMetricsPort,omitempty"`           // where Felix serves metrics; for its DaemonSet
	PrometheusProcessMetricsEnabled bool   `json:"prometheusProcessMetricsEnabled,omitempty"` // with metrics of the process; for its DaemonSet
	TyphaPrometheusMetricsEnabled   bool   `json:"typhaPrometheusMetricsEnabled,omitempty"`   // Typha serves metrics; for its Deployment
	TyphaPrometheusMetricsPort      int    `json:"typhaPrometheusMetricsPort,omitempty"`      // where Typha serves metrics; for its Deployment
	TyphaReplicas                   int    `json:"typhaReplicas,omitempty"`                   // how many Typhas there are; 0 is none
}

func (c *Canal) fields() []field {
	return []field{
		{name: "backend", set: Choice(&c.Backend, "vxlan", "host-gw", "wireguard", "udp")},
		{name: "mtu", set: MTU(&c.MTU)},
		{name: "chainInsertMode", set: Choice(&c.ChainInsertMode, "insert", "append")},
		{name: "cpuRequest", set: Text(&c.CPURequest, nil)},
		{name: "defaultEndpointToHostAction", set: Choice(&c.DefaultEndpointToHostAction, "ACCEPT", "DROP", "RETURN")},
		{name: "disableTxChecksumOffloading", set: Bool(&c.DisableTxChecksumOffloading)},
		{name: "flanneldIptablesForwardRules", set: OptionalBool(&c.FlannelForwardRules)},
		{name: "disableFlannelForwardRules", set: Not(&c.FlannelForwardRules), unlisted: true}, // v1alpha2
		{name: "iptablesBackend", set: Choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{name: "logSeveritySys", set: Choice(&c.LogSeveritySys, "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "NONE")},
		{name: "prometheusGoMetricsEnabled", set: Bool(&c.PrometheusGoMetricsEnabled)},
		{name: "prometheusMetricsEnabled", set: Bool(&c.PrometheusMetricsEnabled)},
		{name: "prometheusMetricsPort", set: Port(&c.PrometheusMetricsPort)},
		{name: "prometheusProcessMetricsEnabled", set: Bool(&c.PrometheusProcessMetricsEnabled)},
		{name: "typhaPrometheusMetricsEnabled", set: Bool(&c.TyphaPrometheusMetricsEnabled)},
		{name: "typhaPrometheusMetricsPort", set: Port(&c.TyphaPrometheusMetricsPort)},
		{name: "typhaReplicas", set: Number(&c.TyphaReplicas, 0, 10_000)},
	}
}

// not takes a boolean that says the opposite of what is kept.
func Not(to **bool) set {
	return func(d *decoder, v *document.Value, at string) {
		OptionalBool(to)(d, v, at)
		**to = !**to
	}
}

func (n *Node) fillCanal() {
	if c := n.Networking.Canal; c != nil {
		fill(n.origins, "spec.networking.canal.backend", document.KopsDefault, &c.Backend, "vxlan")
	}
}

// canal: Typha's port and Felix' are two servers' on one host.
func (v *validator) canal() {
	c := v.node.Networking.Canal
	if c == nil || c.PrometheusMetricsPort == 0 || c.PrometheusMetricsPort != c.TyphaPrometheusMetricsPort {
		return
	}
	v.errorAt("spec.networking.canal.typhaPrometheusMetricsPort", document.Diagnostic{
		Summary: fmt.Sprintf("Felix and Typha both serve their metrics on port %d of the host", c.PrometheusMetricsPort), Expected: "two ports, such as 9091 and 9093"})
}
