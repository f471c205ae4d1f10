package network

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/tasks"
)

// conflist is a CNI network configuration list, with only the fields that we write.
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

// chainedPlugin is a plugin that runs after the plugin that makes the link. The runtime passes it
// the pod's settings for its capabilities.
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

// shaping returns the plugin bandwidth for the end of a chain. It limits pods' traffic as their
// annotations kubernetes.io/ingress-bandwidth and egress-bandwidth say.
// https://www.cni.dev/plugins/current/meta/bandwidth/
func (in Input) shaping() []any {
	if !in.shapes() {
		return nil
	}
	return []any{chainedPlugin{Type: "bandwidth", Capabilities: map[string]bool{"bandwidth": true}}}
}

// shapes reports whether our chains have the plugin bandwidth. They do not if another program
// installs the node's plugins, because bandwidth may be missing there. The archive of the agent's
// own table has it, and an archive of a document has it if its members list it.
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

// bandwidthPlugin returns the plugin that a chain with shaping needs.
func bandwidthPlugin() Plugin {
	return Plugin{Asset: CNIPlugins, Members: []string{"bandwidth"}, Case: Case{
		"unless spec.assets names the archive and does not list it among its members", Input.shapes},
		Source: "https://www.cni.dev/plugins/current/meta/bandwidth/"}
}

// addConf adds the conf that the agent writes for the network.
func (b *Built) addConf(in Input, file string, conf conflist) error {
	content, err := indented(conf)
	b.Conf = in.ownConf(in.NetworkOrigin(), file, content)
	return err
}

// ownConf returns the file of a conf that the agent writes.
func (in Input) ownConf(origin, file string, content []byte) *tasks.File {
	return &tasks.File{Meta: tasks.Meta{From: origin, Why: "the CNI conf, last: with it the node takes pods"},
		Path: path.Join(in.ConfDir, file), Content: content, Mode: 0o644}
}

// indented returns the JSON of a conf, indented by two spaces, with a newline at the end.
func indented(conf any) ([]byte, error) {
	b, err := json.MarshalIndent(conf, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render the CNI conf: %w", err)
	}
	return append(b, '\n'), nil
}

// rangesText and routesText return `ranges` and `routes` of host-local for a node's pods, for the
// template of a conf.
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

// confVersion returns the CNI version of a conf that we write. From Kubernetes 1.27 on it is 1.0.0,
// because plugins ≥ 1.0.0 and runtimes with libcni ≥ 1.0 are usual. Before that it is 0.4.0, which
// all of them read.
func confVersion(v values.Version) string {
	if v.AtLeast(1, 27) {
		return "1.0.0"
	}
	return "0.4.0"
}

// anyOf returns the destination of a default route in the family of an address.
func anyOf(a netip.Addr) netip.Prefix {
	if a.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}
