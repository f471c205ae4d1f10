// Package networks has the networks that documents can choose, one file each: what a network is
// called, its fields, its defaults, and what it refuses. What they do on a node is for pkg/model.
package networks

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Networking holds the one network of the cluster: after Load exactly one pointer is set.
type Networking struct {
	// BridgeNetfilter: who decides whether bridged packets go through iptables: 1 and 0 are written
	// to net.bridge.bridge-nf-call-iptables and -ip6tables, unmanaged leaves them alone. Not said:
	// the network decides
	BridgeNetfilter string `json:"bridgeNetfilter,omitempty"`

	ACI       *ACI      `json:"aci,omitempty"`
	Classic   *Bare     `json:"classic,omitempty"`
	CNIGenie  *Bare     `json:"cniGenie,omitempty"`
	ContivVPP *Bare     `json:"contivVPP,omitempty"`
	Contrail  *Contrail `json:"contrail,omitempty"`
	DANM      *Bare     `json:"danm,omitempty"`
	Jaguar    *Bare     `json:"jaguar,omitempty"`
	KVSwitch  *KVSwitch `json:"kVSwitch,omitempty"`
	Knitter   *Bare     `json:"knitter,omitempty"`
	NSXT      *Bare     `json:"nsxT,omitempty"`
	OVN4NFV   *Bare     `json:"ovn4nfv,omitempty"`

	Antrea        *Antrea        `json:"antrea,omitempty"`
	Azure         *Azure         `json:"azure,omitempty"`
	Coil          *Coil          `json:"coil,omitempty"`
	Hybridnet     *Hybridnet     `json:"hybridnet,omitempty"`
	KubeOVN       *KubeOVN       `json:"kubeOVN,omitempty"`
	OVNKubernetes *OVNKubernetes `json:"ovnKubernetes,omitempty"`

	AmazonVPC  *AmazonVPC  `json:"amazonVPC,omitempty"`
	Bridge     *Bridge     `json:"bridge,omitempty"`
	Calico     *Calico     `json:"calico,omitempty"`
	Canal      *Canal      `json:"canal,omitempty"`
	Cilium     *Cilium     `json:"cilium,omitempty"`
	CNI        *CNI        `json:"cni,omitempty"` // bring your own
	Custom     *Custom     `json:"custom,omitempty"`
	External   *Bare       `json:"external,omitempty"`
	Flannel    *Flannel    `json:"flannel,omitempty"`
	GCP        *GCP        `json:"gcp,omitempty"`
	Kindnet    *Kindnet    `json:"kindnet,omitempty"`
	Kopeio     *Bare       `json:"kopeio,omitempty"`
	KubeRouter *KubeRouter `json:"kubeRouter,omitempty"`
	Kubenet    *Kubenet    `json:"kubenet,omitempty"`
	LyftVPC    *LyftVPC    `json:"lyftvpc,omitempty"`
	Romana     *Romana     `json:"romana,omitempty"`
	Weave      *Weave      `json:"weave,omitempty"`

	Multus *Multus `json:"multus,omitempty"` // beside the one network, not counted as one

	Switch *Switch `json:"switch,omitempty"` // how to leave the network that a node has for another one
}

// Name is the key under spec.networking that selects the network, "bridge" or "cni" for example; ""
// when none is set.
func (n *Networking) Name() string {
	for _, c := range choices() {
		if c.name != byoNetwork && c.set(n) {
			return c.name
		}
	}
	if n.CNI != nil {
		return byoNetwork
	}
	return ""
}

// choices lists the networks: those that kOps has or had, those that ended, sleep, or cannot be had
// without their maker, and those that kOps never had.
func choices() []choice {
	return []choice{
		of("amazonVPC", func(w *Networking) **AmazonVPC { return &w.AmazonVPC }, (*AmazonVPC).fields),
		of("bridge", func(w *Networking) **Bridge { return &w.Bridge }, (*Bridge).fields),
		of("calico", func(w *Networking) **Calico { return &w.Calico }, (*Calico).fields),
		of("canal", func(w *Networking) **Canal { return &w.Canal }, (*Canal).fields),
		of("cilium", func(w *Networking) **Cilium { return &w.Cilium }, (*Cilium).fields),
		{byoNetwork, func(w *Networking) bool { return w.CNI != nil }, nil},
		of("custom", func(w *Networking) **Custom { return &w.Custom }, (*Custom).fields),
		of("external", func(w *Networking) **Bare { return &w.External }, nil),
		of("flannel", func(w *Networking) **Flannel { return &w.Flannel }, (*Flannel).fields),
		of("gcp", func(w *Networking) **GCP { return &w.GCP }, nil),
		of("kindnet", func(w *Networking) **Kindnet { return &w.Kindnet }, (*Kindnet).fields),
		of("kopeio", func(w *Networking) **Bare { return &w.Kopeio }, nil),
		of("kubeRouter", func(w *Networking) **KubeRouter { return &w.KubeRouter }, (*KubeRouter).fields),
		of("kubenet", func(w *Networking) **Kubenet { return &w.Kubenet }, (*Kubenet).fields),
		of("lyftvpc", func(w *Networking) **LyftVPC { return &w.LyftVPC }, (*LyftVPC).fields),
		of("romana", func(w *Networking) **Romana { return &w.Romana }, (*Romana).fields),
		of("weave", func(w *Networking) **Weave { return &w.Weave }, (*Weave).fields),
		of("aci", func(w *Networking) **ACI { return &w.ACI }, (*ACI).fields),
		of("classic", func(w *Networking) **Bare { return &w.Classic }, nil),
		of("cniGenie", func(w *Networking) **Bare { return &w.CNIGenie }, nil),
		of("contivVPP", func(w *Networking) **Bare { return &w.ContivVPP }, nil),
		of("contrail", func(w *Networking) **Contrail { return &w.Contrail }, (*Contrail).fields),
		of("danm", func(w *Networking) **Bare { return &w.DANM }, nil),
		of("jaguar", func(w *Networking) **Bare { return &w.Jaguar }, nil),
		of("kVSwitch", func(w *Networking) **KVSwitch { return &w.KVSwitch }, (*KVSwitch).fields),
		of("knitter", func(w *Networking) **Bare { return &w.Knitter }, nil),
		of("nsxT", func(w *Networking) **Bare { return &w.NSXT }, nil),
		of("ovn4nfv", func(w *Networking) **Bare { return &w.OVN4NFV }, nil),
		of("antrea", func(w *Networking) **Antrea { return &w.Antrea }, (*Antrea).fields),
		of("azure", func(w *Networking) **Azure { return &w.Azure }, (*Azure).fields),
		of("coil", func(w *Networking) **Coil { return &w.Coil }, (*Coil).fields),
		of("hybridnet", func(w *Networking) **Hybridnet { return &w.Hybridnet }, (*Hybridnet).fields),
		of("kubeOVN", func(w *Networking) **KubeOVN { return &w.KubeOVN }, (*KubeOVN).fields),
		of("ovnKubernetes", func(w *Networking) **OVNKubernetes { return &w.OVNKubernetes }, (*OVNKubernetes).fields),
	}
}

// Supported are the keys that choose a network, by name.
func Supported() []string {
	var names []string
	for _, c := range choices() {
		if !slices.Contains(goneNetworks[:], c.name) {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	return names
}

// choice is a network that documents can select. To add one is its type in [Networking], its
// fields, and a line in choices.
type choice struct {
	name   string
	set    func(*Networking) bool
	fields func(*Networking) []decode.Field
}

// byoNetwork plays two parts: see [CNI].
const byoNetwork = "cni"

// goneNetworks cannot be had any more: a document may name them, the model refuses them and says
// what to use instead, and nobody who looks for a network is told of them.
var goneNetworks = [...]string{"classic", "jaguar"}

// of is the choice of a network that is a struct in [Networking]. Fields is nil where it has none.
func of[T any](name string, at func(*Networking) **T, fields func(*T) []decode.Field) choice {
	return choice{name, func(w *Networking) bool { return *at(w) != nil }, func(w *Networking) []decode.Field {
		if network := allocate(at(w)); fields != nil {
			return fields(network)
		}
		return nil
	}}
}

// PodsOfVPC tells that pods have addresses of the nodes' own network: then theirs lie within it.
func (n *Networking) PodsOfVPC() bool {
	return n.AmazonVPC != nil || n.Cilium != nil && n.Cilium.ENI() || n.GCP != nil || n.CNI != nil || n.Custom != nil || n.LyftVPC != nil || n.Azure != nil
}

// Chosen are the networks that are set, in the order of the list, without what "bring your own" is.
func (n *Networking) Chosen() []string {
	var names []string
	for _, c := range choices() {
		if c.name != byoNetwork && c.set(n) {
			names = append(names, c.name)
		}
	}
	return names
}

// Fields are the fields of spec.networking that choose the network. CNI gets what stands
// below cni.
func (n *Networking) Fields(cni *CNI) []decode.Field {
	var fields []decode.Field
	for _, c := range choices() {
		fields = append(fields, decode.Field{Name: c.name, Unlisted: slices.Contains(goneNetworks[:], c.name), Set: func(d *decode.Decoder, v *document.Value, at string) {
			d.Mapping(v, at, n.fieldsOf(c, cni))
		}})
	}
	return fields
}

func (n *Networking) fieldsOf(c choice, cni *CNI) []decode.Field {
	if c.name == byoNetwork {
		n.CNI = cni
		return cni.fields()
	}
	return c.fields(n)
}

// MultusField is the field of what stands beside the network.
func (n *Networking) MultusField() decode.Field {
	return decode.Field{Name: "multus", Set: decode.Into(func() []decode.Field { return allocate(&n.Multus).fields() })}
}

// Beside are the fields of spec.networking that belong to no single network. kOps has no word for
// them.
func (n *Networking) Beside() []decode.Field {
	return []decode.Field{
		{Name: "bridgeNetfilter", Set: bridgeNetfilter(&n.BridgeNetfilter)},
		{Name: "switch", Set: decode.Into(func() []decode.Field { return allocate(&n.Switch).fields(Supported()) })},
	}
}

// FieldsOf are the fields of one network, multus among them, with the network chosen; nil when none
// has the name.
func (n *Networking) FieldsOf(name string, cni *CNI) (list []decode.Field, known bool) {
	if name == "multus" {
		return allocate(&n.Multus).fields(), true
	}
	for _, c := range choices() {
		if c.name == name {
			return n.fieldsOf(c, cni), true
		}
	}
	return nil, false
}

// IsNetwork tells that a key below spec.networking chooses a network, also one that is gone.
func IsNetwork(key string) bool {
	return slices.ContainsFunc(choices(), func(c choice) bool { return c.name == key })
}
