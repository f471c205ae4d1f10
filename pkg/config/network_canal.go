package config

import "fmt"

// Canal is kOps' canal, policy by Calico over Flannel's network; and the backend, which kOps fixed to vxlan and upstream's manifest leaves to its
// ConfigMap. The node acts on backend and mtu; the rest is for the DaemonSet, and only recorded here. "" and 0 mean: Calico's default.
// https://github.com/kubernetes/kops/blob/v1.27.0/pkg/apis/kops/networking.go, CanalNetworkingSpec
type Canal struct {
	Backend                         string `json:"backend"`                               // of flannel: "vxlan" (default), "host-gw", "wireguard", "udp"
	MTU                             int    `json:"mtu,omitempty"`                         // of the pods' links; 0: flanneld's
	ChainInsertMode                 string `json:"chainInsertMode,omitempty"`             // "insert", "append"
	CPURequest                      string `json:"cpuRequest,omitempty"`                  //
	DefaultEndpointToHostAction     string `json:"defaultEndpointToHostAction,omitempty"` // what becomes of pods' packets to their node: "ACCEPT", "DROP", "RETURN"
	DisableTxChecksumOffloading     bool   `json:"disableTxChecksumOffloading,omitempty"`
	FlannelForwardRules             *bool  `json:"flanneldIptablesForwardRules,omitempty"` // nil: yes, flanneld accepts forwarded packets
	IptablesBackend                 string `json:"iptablesBackend,omitempty"`              // "Auto", "Legacy", "NFT"
	LogSeveritySys                  string `json:"logSeveritySys,omitempty"`
	PrometheusGoMetricsEnabled      bool   `json:"prometheusGoMetricsEnabled,omitempty"`
	PrometheusMetricsEnabled        bool   `json:"prometheusMetricsEnabled,omitempty"`
	PrometheusMetricsPort           int    `json:"prometheusMetricsPort,omitempty"`
	PrometheusProcessMetricsEnabled bool   `json:"prometheusProcessMetricsEnabled,omitempty"`
	TyphaPrometheusMetricsEnabled   bool   `json:"typhaPrometheusMetricsEnabled,omitempty"`
	TyphaPrometheusMetricsPort      int    `json:"typhaPrometheusMetricsPort,omitempty"`
	TyphaReplicas                   int    `json:"typhaReplicas,omitempty"`
}

func (d *decoder) canal(c *Canal) []field {
	return []field{
		{name: "backend", set: d.choice(&c.Backend, "vxlan", "host-gw", "wireguard", "udp")},
		{name: "mtu", set: d.mtu(&c.MTU)},
		{name: "chainInsertMode", set: d.choice(&c.ChainInsertMode, "insert", "append")},
		{name: "cpuRequest", set: d.text(&c.CPURequest, nil)},
		{name: "defaultEndpointToHostAction", set: d.choice(&c.DefaultEndpointToHostAction, "ACCEPT", "DROP", "RETURN")},
		{name: "disableTxChecksumOffloading", set: d.boolean(&c.DisableTxChecksumOffloading)},
		{name: "flanneldIptablesForwardRules", set: d.optionalBool(&c.FlannelForwardRules)},
		{name: "disableFlannelForwardRules", set: d.not(&c.FlannelForwardRules), unlisted: true}, // v1alpha2
		{name: "iptablesBackend", set: d.choice(&c.IptablesBackend, "Auto", "Legacy", "NFT")},
		{name: "logSeveritySys", set: d.choice(&c.LogSeveritySys, "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "NONE")},
		{name: "prometheusGoMetricsEnabled", set: d.boolean(&c.PrometheusGoMetricsEnabled)},
		{name: "prometheusMetricsEnabled", set: d.boolean(&c.PrometheusMetricsEnabled)},
		{name: "prometheusMetricsPort", set: d.port(&c.PrometheusMetricsPort)},
		{name: "prometheusProcessMetricsEnabled", set: d.boolean(&c.PrometheusProcessMetricsEnabled)},
		{name: "typhaPrometheusMetricsEnabled", set: d.boolean(&c.TyphaPrometheusMetricsEnabled)},
		{name: "typhaPrometheusMetricsPort", set: d.port(&c.TyphaPrometheusMetricsPort)},
		{name: "typhaReplicas", set: d.number(&c.TyphaReplicas, 0, 10_000)},
	}
}

// not takes a boolean that says the opposite of what is kept.
func (d *decoder) not(to **bool) set {
	return func(v *value, at string) {
		d.optionalBool(to)(v, at)
		**to = !**to
	}
}

func (n *Node) fillCanal() {
	if c := n.Networking.Canal; c != nil {
		fill(n, "spec.networking.canal.backend", KopsDefault, &c.Backend, "vxlan")
	}
}

// canal: Typha's port and Felix' are two servers' on one host.
func (v *validator) canal() {
	c := v.node.Networking.Canal
	if c == nil || c.PrometheusMetricsPort == 0 || c.PrometheusMetricsPort != c.TyphaPrometheusMetricsPort {
		return
	}
	v.errorAt("spec.networking.canal.typhaPrometheusMetricsPort", Diagnostic{
		Summary: fmt.Sprintf("Felix and Typha both serve their metrics on port %d of the host", c.PrometheusMetricsPort), Expected: "two ports, such as 9091 and 9093"})
}
