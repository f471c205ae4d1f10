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

// Input is what a network's Build may use.
type Input struct {
	Node     *config.Node
	Facts    *host.Facts
	PodCIDRs values.CIDRs // this node's; empty: not known yet
	// NoPodCIDRs is why the API has no pod CIDRs for this node; "" if it was not asked.
	NoPodCIDRs string
	Peers      []networks.Peer // the other nodes, from the documents and from the API
	V4, V6     bool            // the address families of the cluster's pods
	BinDir     string          // where the agent installs plugins; the runtime looks there
	ConfDir    string          // where the runtime looks for confs
	BinDirs    []string        // all directories where the runtime looks for plugins, with BinDir
	Keypairs   map[string]Keypair
	Routes     RouteTable
	Issued     map[string]Issued // by name: certificates that an issuer gives this node
}

// Issued is the state of a certificate whose key is made on the node.
type Issued struct {
	Pair Keypair // without Cert: there is no certificate yet
	Wait string  // what it then waits for; messages put "waiting for " before it
	// Plan says who would issue the certificate, and why; "": nothing is due. Only a dry run sets
	// it, because it asks no issuer.
	Plan string
	Late string // why a renewal that is due has not happened
	Fail error  // why there is no certificate, if waiting does not help
}

// Keypair is a certificate with its key and the CA that signed it, each as PEM.
type Keypair struct {
	CA, Cert []byte
	Key      secret.Text
	Origin   string
}

// Origin returns where the value at a path of the documents comes from, as text.
func (in Input) Origin(path string) string {
	return cmp.Or(in.Node.Origin(path).String(), document.NodeDefault)
}

// NetworkOrigin returns where the documents choose the network.
func (in Input) NetworkOrigin() string {
	return in.Origin("spec.networking." + in.Node.Networking.Name())
}

// Meta returns the origin and the reason of a task that the chosen network needs.
func (in Input) Meta(why string) tasks.Meta {
	return tasks.Meta{From: in.NetworkOrigin(), Why: why}
}

// DockerKubelet reports whether kubelet itself calls the plugins: with docker, below Kubernetes
// 1.24. Otherwise the runtime calls them.
func (in Input) DockerKubelet() bool {
	return in.Node.ContainerRuntime == "docker" && !in.Node.KubernetesVersion.AtLeast(1, 24)
}

// Built is what a network adds to the node.
type Built struct {
	// Tasks are all tasks except those for the confs. Tasks of the gate before-kubelet run before
	// Conf.
	Tasks []tasks.Task
	// Conf is the conf that the agent writes. It is written last.
	Conf *tasks.File
	// Meta is the conf of a meta-plugin that calls the network in Conf. The agent writes it after
	// Conf.
	Meta *tasks.File
	// Wait is the check of the conf directory; nil: this network has no conf there, or its conf
	// needs pod CIDRs that the node does not have yet.
	Wait *tasks.WaitConf
	// ConfTemplate is the path of containerd's conf_template; "": none.
	ConfTemplate string
	// KubeletPlugin is the value of --network-plugin if kubelet itself calls the plugins; "": the
	// no-op plugin.
	KubeletPlugin string
	// KubeletMTU is the value of --network-plugin-mtu; 0: kubelet computes it.
	KubeletMTU int
	// MaxPods is the value of --max-pods; 0: kubelet's default.
	MaxPods int
	Notes   []Note

	identities []string // names of the certificates that the network installs
}

// Level is the importance of a note.
type Level string

// The levels of a note.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error" // urgent, but it stops nothing
)

// Note is something that a plan must report although no task belongs to it.
type Note struct {
	Level  Level  `json:"level"`
	Origin string `json:"origin,omitempty"`
	Text   string `json:"text"`
	// Machine says that the note is about the node's own links. It is useless in a plan that is
	// made without facts of the links.
	Machine bool `json:"-"`
}

func (b *Built) add(ts ...tasks.Task) { b.Tasks = append(b.Tasks, ts...) }

func (b *Built) note(level Level, origin, format string, args ...any) {
	b.Notes = append(b.Notes, Note{Level: level, Origin: origin, Text: fmt.Sprintf(format, args...)})
}
