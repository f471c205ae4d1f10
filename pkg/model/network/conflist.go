package network

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/config/values"
)

// conflist is a CNI network configuration list, with the few fields that we write.
// https://www.cni.dev/docs/spec/#configuration-format
type conflist struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Plugins    []any  `json:"plugins"`
}

type bridgePlugin struct {
	Type      string    `json:"type"`
	Bridge    string    `json:"bridge"`
	IsGateway bool      `json:"isGateway"`
	IPMasq    bool      `json:"ipMasq"`
	Hairpin   bool      `json:"hairpinMode"`
	MTU       int       `json:"mtu"`
	IPAM      hostLocal `json:"ipam"`
}

type ptpPlugin struct {
	Type string    `json:"type"`
	MTU  int       `json:"mtu,omitempty"`
	IPAM hostLocal `json:"ipam"`
}

// chainedPlugin is one after the plugin that makes the link, which the runtime tells what it wants
// of a pod by a capability.
type chainedPlugin struct {
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
}

type hostLocal struct {
	Type   string      `json:"type"`
	Ranges [][]ipRange `json:"ranges"`
	Routes []ipRoute   `json:"routes"`
}

type ipRange struct {
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway,omitempty"`
}

type ipRoute struct {
	Dst string `json:"dst"`
}

func portmap() chainedPlugin {
	return chainedPlugin{Type: "portmap", Capabilities: map[string]bool{"portMappings": true}}
}

// shaping is the end of a chain of ours: pods' traffic is limited as their annotations
// kubernetes.io/ingress-bandwidth and egress-bandwidth ask.
// https://www.cni.dev/plugins/current/meta/bandwidth/
func (in Input) shaping() []any {
	if !in.shapes() {
		return nil
	}
	return []any{chainedPlugin{Type: "bandwidth", Capabilities: map[string]bool{"bandwidth": true}}}
}

// shapes tells that plugin bandwidth is in our chains: not where others say which plugins a node
// has, since theirs may be without it. So it is in the archive of the agent's own table, and in one
// of a document if its members list it.
func (in Input) shapes() bool {
	if in.Node.OwnPlugins() {
		return false
	}
	for _, a := range in.Node.Assets {
		if a.Name == CNIPlugins {
			return slices.Contains(a.Members, "bandwidth")
		}
	}
	return true
}

// bandwidthPlugin is what a chain with shaping needs.
func bandwidthPlugin() Plugin {
	return Plugin{Asset: CNIPlugins, Members: []string{"bandwidth"}, Case: Case{
		"unless spec.assets names the archive and does not list it among its members", Input.shapes},
		Source: "https://www.cni.dev/plugins/current/meta/bandwidth/"}
}

// render is the conf as it is written: two spaces, a newline at the end.
func (c conflist) render() ([]byte, error) {
	return indented(c)
}

func indented(conf any) ([]byte, error) {
	b, err := json.MarshalIndent(conf, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the CNI conf: %w", err)
	}
	return append(b, '\n'), nil
}

// rangesText and routesText are host-local's `ranges` and `routes` of a node's pods, for a conf
// that somebody else lays out.
func rangesText(pods values.CIDRs) (string, error) {
	var ranges [][]ipRange
	for _, c := range pods {
		ranges = append(ranges, []ipRange{{Subnet: c.String()}})
	}
	return oneLine(ranges)
}

func routesText(pods values.CIDRs) (string, error) {
	var routes []ipRoute
	for _, c := range pods {
		routes = append(routes, ipRoute{Dst: anyOf(c.Addr()).String()})
	}
	return oneLine(routes)
}

func oneLine(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("render a part of the CNI conf: %w", err)
	}
	return string(b), nil
}

// confVersion is the CNI version of a conf that we write: 1.0.0 where plugins ≥ 1.0.0 and a runtime
// with libcni ≥ 1.0 are the rule (Kubernetes 1.27 on), else 0.4.0, which all of them read.
func confVersion(v values.Version) string {
	if v.AtLeast(1, 27) {
		return "1.0.0"
	}
	return "0.4.0"
}

// anyOf is the default destination of an address's family.
func anyOf(a netip.Addr) netip.Prefix {
	if a.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}
