package network

import (
	"cmp"
	"fmt"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// Input is what a network's Build may look at.
type Input struct {
	Node     *config.Node
	Facts    *host.Facts
	PodCIDRs values.CIDRs // of this node; empty: nobody knows them yet
	// NoPodCIDRs is why the API does not say them, "" where it was not asked.
	NoPodCIDRs string
	Peers      []networks.Peer // the other nodes, by documents and by the API
	V4, V6     bool            // the families that the cluster's pods have
	BinDir     string          // where the runtime looks for plugins and we put them
	ConfDir    string          // where the runtime looks for confs
	BinDirs    []string        // all where the runtime looks for plugins, BinDir among them
	Keypairs   map[string]Keypair
	Routes     RouteTable
	Issued     map[string]Issued // by name, of the certificates that this node has issued to it
}

// Issued is how a certificate stands whose key is made on the node.
type Issued struct {
	Pair Keypair // without a certificate: there is none yet
	Wait string  // what it waits for then; "waiting for " stands before it
	Plan string  // of a dry run, which asks nobody: what would be done. "": nothing is due
	Late string  // why it is not renewed although that is due
	Fail error   // why there is none, and time will not bring it
}

// Keypair is a certificate with its key and the CA that signed it, PEM each.
type Keypair struct {
	CA, Cert []byte
	Key      secret.Text
	Origin   string
}

// Origin is where the value at a path of the documents came from, in words.
func (in Input) Origin(path string) string {
	return cmp.Or(in.Node.Origin(path).String(), document.NodeDefault)
}

// NetworkOrigin is where the network was chosen.
func (in Input) NetworkOrigin() string {
	return in.Origin("spec.networking." + in.Node.Networking.Name())
}

// DockerKubelet tells that kubelet itself calls the plugins: docker, below Kubernetes 1.24.
// Everywhere else the runtime does.
func (in Input) DockerKubelet() bool {
	return in.Node.ContainerRuntime == "docker" && !in.Node.KubernetesVersion.AtLeast(1, 24)
}

// Built is what a network adds to the node.
type Built struct {
	// Tasks are all but the conf. Those of the gate before-kubelet come before Conf.
	Tasks []tasks.Task
	// Conf is a conf that we write; it goes last.
	Conf *tasks.File
	// Meta is a conf that we write after Conf, of a plugin that calls it.
	Meta *tasks.File
	// Wait is the check of the conf directory; nil: this network has no conf there.
	Wait *tasks.WaitConf
	// ConfTemplate is the path of containerd's conf_template; "": none wanted.
	ConfTemplate string
	// KubeletPlugin is --network-plugin, where kubelet itself calls the plugins; "" is the no-op
	// plugin.
	KubeletPlugin string
	// KubeletMTU is --network-plugin-mtu; 0: kubelet's own rule.
	KubeletMTU int
	// MaxPods is --max-pods; 0: kubelet's own.
	MaxPods int
	Notes   []Note

	identities []string // names of the certificates that it installs
}

// Level is how much a note matters.
type Level string

// The levels of a note.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error" // what must not wait, and stops nothing
)

// Note is something that a plan must say although no task does it.
type Note struct {
	Level  Level  `json:"level"`
	Origin string `json:"origin,omitempty"`
	Text   string `json:"text"`
	// Machine says that it is about the node's own links, and of no use where nobody looked at
	// them.
	Machine bool `json:"-"`
}

func (b *Built) note(level Level, origin, format string, args ...any) {
	b.Notes = append(b.Notes, Note{Level: level, Origin: origin, Text: fmt.Sprintf(format, args...)})
}
