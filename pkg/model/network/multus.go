package network

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// The names of multus. https://github.com/k8snetworkplumbingwg/multus-cni v4.3
// (pkg/server/config/generator.go, cmd/thin_entrypoint/main.go)
const (
	multusName   = "multus"
	multusConf   = "00-multus.conf"     // written by thick, and by thin if the CNI version is below 1.0.0
	multusList   = "00-multus.conflist" // written by thin from 1.0.0 on
	multusCNI    = "multus-cni-network"
	multusConfig = "multus.d/multus.kubeconfig"
	multusSocket = "/run/multus/multus.sock"
)

// multus returns the row of Multus, a meta-plugin. It calls the cluster's network for every pod,
// and further networks that a pod's annotations name. The row itself is only for lists: [Of] puts
// multus before the network that the documents choose. Without a document m is nil.
func multus(m *networks.Multus) Network {
	m = cmp.Or(m, &networks.Multus{})
	binary := "multus-shim"
	if m.Thin() {
		binary = "multus"
	}
	n := Network{
		Name:  multusName,
		Title: "meta plugin: further interfaces for pods, beside any network of this list",
		Docs:  "https://github.com/k8snetworkplumbingwg/multus-cni",
		// NetworkAttachmentDefinition needs apiextensions.k8s.io/v1.
		Lifecycle: Lifecycle{First: version(1, 16)},
		Conf:      byDaemonSet(multusConf, binary),
		Kubelet:   "cni",
		Kubeconfig: "thin: multus.d/multus.kubeconfig in the conf directory, by its entrypoint; thick: none on the " +
			"host",
		MTU:  "that of the networks that it calls",
		IPv6: true,
		Plugins: []Plugin{{Asset: multusName, Members: []string{binary, "passthru"},
			Case: Case{"the documents have an asset multus; else its DaemonSet brings them",
				func(in Input) bool {
					return slices.ContainsFunc(in.Node.Assets, func(a extras.Asset) bool { return a.Name == multusName })
				}}, Source: "https://github.com/k8snetworkplumbingwg/multus-cni"}},
		HealthChecks: []HealthCheck{
			{Text: "thin has its kubeconfig", Path: "/etc/cni/net.d/" + multusConfig,
				Case: Case{"mode thin", func(in Input) bool { return in.Node.Networking.Multus.Thin() }}},
			{Text: "the daemon answers", Path: multusSocket,
				Case: Case{"mode thick",
					func(in Input) bool { return !in.Node.Networking.Multus.Thin() }}},
		},
		// both kinds ask the API for the Pod, thick by its daemon and thin where its conf names a
		// kubeconfig, which ours does
		Untestable: []Untestable{{Why: "Multus asks the API for each pod: it refuses one that the API does not know",
			Instead: apiPods,
			Source:  "https://github.com/k8snetworkplumbingwg/multus-cni/blob/master/pkg/multus/multus.go"}},
		Residue: cleanup.Residue{
			// While this conf exists, the runtime calls multus for every new pod.
			Files: []string{"/etc/cni/net.d/" + multusConf, "/etc/cni/net.d/" + multusList,
				"/etc/cni/net.d/" + multusConf + ".new", "/etc/cni/net.d/multus.d/",
				"/opt/cni/bin/multus", "/opt/cni/bin/multus-shim", "/opt/cni/bin/passthru", "/var/lib/cni/multus/",
				// These are temporary files (pkg/cmdutils, CopyFileAtomic).
				"/opt/cni/bin/_multus[0-9]*", "/opt/cni/bin/multus.temp[0-9]*", "/opt/cni/bin/multus-shim.temp[0-9]*",
				"/opt/cni/bin/passthru.temp[0-9]*", "/run/multus/"},
			Others: []string{"confs of further networks in /etc/cni/multus/net.d, and bridges that those made",
				"*.old in /etc/cni/net.d, where it ran with --rename-conf-file",
				"/run/k8s.cni.cncf.io, which device plugins write too"},
		},
		// Both kinds write the conf again when the network's conf changes, or when they start
		// (deployments/multus-daemonset*.yml).
		Agents: []string{"kube-multus"},
		TestedBy: []Proof{
			{"with the conf that the agent writes, the thin plugin gives a pod the cluster's network and the " +
				"network of the pod's annotation; DEL leaves nothing", "test/e2e TestPodsByMultus"},
			{"with the conf that its daemon writes, the thick plugin gives pods of two nodes flannel's network " +
				"and the network of their annotation, with the real API", "test/e2e TestKubernetesFlannel"},
			{"the shim of the thick plugin supports the version of the agent's conf, and reads the conf",
				"test/plugins TestPlugins"},
		},
		Build: func(Input, *Built) error {
			return errors.New("use multus: it is no network of its own: set another one beside it under spec.networking")
		},
	}
	if len(m.Delegates) > 0 {
		n.Plugins = append(n.Plugins, Plugin{Asset: CNIPlugins, Members: m.Delegates,
			Case:   Case{When: "multus.delegates"},
			Source: "https://github.com/containernetworking/plugins"})
	}
	return n
}

// below returns the network with multus before it. The node is prepared for the network as usual,
// and multus calls it.
func (n Network) below(meta Network) Network {
	build := n.Build
	n.Plugins = slices.Concat(n.Plugins, meta.Plugins)
	n.HealthChecks = slices.Concat(n.HealthChecks, meta.HealthChecks)
	n.Untestable = slices.Concat(n.Untestable, meta.Untestable)
	n = n.WithMultus()
	n.Build = func(in Input, b *Built) error {
		if build != nil {
			if err := build(in, b); err != nil {
				return err
			}
		}
		return b.addMultus(in)
	}
	return n
}

// WithMultus returns the network with the residue and the Agents of multus added.
func (n Network) WithMultus() Network {
	meta := multus(nil)
	n.Residue.Files = slices.Concat(n.Residue.Files, meta.Residue.Files)
	n.Residue.Others = slices.Concat(n.Residue.Others, meta.Residue.Others)
	n.Agents = slices.Concat(n.Agents, meta.Agents)
	return n
}

// addMultus adds the check of multus' conf. If the documents say so, it also adds the conf, which
// calls the network's own.
func (b *Built) addMultus(in Input) error {
	m := in.Node.Networking.Multus
	origin := in.Origin("spec.networking.multus")
	switch {
	case b.Wait != nil:
	case b.KubeletPlugin == "cni":
		return nil // the network makes its conf once its pod CIDRs are known
	default:
		return fmt.Errorf("use multus (%s): the network beside it has no conf that it could call, since kubelet does "+
			"not look for one here", origin)
	}
	wait := in.waitConf(multusConf, "its DaemonSet writes it from the first other conf")
	wait.Network, wait.At, wait.From, wait.Why = multusName, graph.AfterKubelet, origin,
		"it calls the network for every pod"
	if m.Thin() {
		wait.Or = multusList
	}
	if m.Writer == WriterNetwright {
		file, content, err := multusContent(in, m, *b.Conf)
		if err != nil {
			return err
		}
		b.Meta = &tasks.File{Meta: tasks.Meta{From: origin, Why: "before the network's conf, which it calls"},
			Path: path.Join(in.ConfDir, file), Content: content, Mode: 0o600}
		wait.File, wait.Or, wait.Writer = file, "", "we write it"
		wait.Requires = append(wait.Requires, tasks.FileKey(b.Meta.Path))
		if !m.Thin() {
			b.note(Info, origin,
				"the daemon of multus must leave the conf to us: no multusConfigFile: auto in its daemon-config.json")
		}
	}
	b.add(*wait)
	return nil
}

// multusPlugin has the fields of multus' conf that we write.
type multusPlugin struct {
	CNIVersion         string            `json:"cniVersion,omitempty"` // empty in a list, which has its own
	Name               string            `json:"name,omitempty"`
	Type               string            `json:"type"`
	Capabilities       map[string]bool   `json:"capabilities"`
	LogLevel           string            `json:"logLevel,omitempty"`
	Kubeconfig         string            `json:"kubeconfig,omitempty"`
	NamespaceIsolation bool              `json:"namespaceIsolation,omitempty"`
	GlobalNamespaces   string            `json:"globalNamespaces,omitempty"`
	ClusterNetwork     string            `json:"clusterNetwork,omitempty"`
	Delegates          []json.RawMessage `json:"delegates,omitempty"`
}

// multusContent returns the file name and the content of multus' conf, in the form that its own
// programs write. For thin it contains the network's whole conf. For thick it has the path of that
// conf as the daemon sees it, below /host.
func multusContent(in Input, m *networks.Multus, below tasks.File) (file string, content []byte, err error) {
	p := multusPlugin{Type: "multus-shim", Capabilities: portmap().Capabilities, LogLevel: m.LogLevel,
		NamespaceIsolation: m.NamespaceIsolation, GlobalNamespaces: m.GlobalNamespaces}
	release := confVersion(in.Node.KubernetesVersion)
	if !m.Thin() {
		p.CNIVersion, p.Name, p.ClusterNetwork = release, multusCNI, path.Join("/host", below.Path)
		content, err = indented(p)
		return multusConf, content, err
	}
	p.Type, p.Kubeconfig, p.Delegates = "multus", path.Join(in.ConfDir, multusConfig),
		[]json.RawMessage{json.RawMessage(below.Content)}
	if release < "1.0.0" {
		p.CNIVersion, p.Name = release, multusCNI
		content, err = indented(p)
		return multusConf, content, err
	}
	content, err = indented(conflist{CNIVersion: release, Name: multusCNI, Plugins: []any{p}})
	return multusList, content, err
}
