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
	for _, c := range choices {
		if c.name != byoNetwork && c.set(n) {
			return c.name
		}
	}
	if n.CNI != nil {
		return byoNetwork
	}
	return ""
}

// choices lists the networks: those of kOps, today's and former ones; those that ended, sleep, or
// need their maker; and those that kOps never had.
var choices = []choice{
	{"amazonVPC", func(w *Networking) bool { return w.AmazonVPC != nil },
		func(w *Networking) []decode.Field { return allocate(&w.AmazonVPC).fields() }},
	{"bridge", func(w *Networking) bool { return w.Bridge != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Bridge).fields() }},
	{"calico", func(w *Networking) bool { return w.Calico != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Calico).fields() }},
	{"canal", func(w *Networking) bool { return w.Canal != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Canal).fields() }},
	{"cilium", func(w *Networking) bool { return w.Cilium != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Cilium).fields() }},
	{byoNetwork, func(w *Networking) bool { return w.CNI != nil }, nil},
	{"custom", func(w *Networking) bool { return w.Custom != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Custom).fields() }},
	{"external", func(w *Networking) bool { return w.External != nil },
		func(w *Networking) []decode.Field { allocate(&w.External); return nil }},
	{"flannel", func(w *Networking) bool { return w.Flannel != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Flannel).fields() }},
	{"gcp", func(w *Networking) bool { return w.GCP != nil },
		func(w *Networking) []decode.Field { allocate(&w.GCP); return nil }},
	{"kindnet", func(w *Networking) bool { return w.Kindnet != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Kindnet).fields() }},
	{"kopeio", func(w *Networking) bool { return w.Kopeio != nil },
		func(w *Networking) []decode.Field { allocate(&w.Kopeio); return nil }},
	{"kubeRouter", func(w *Networking) bool { return w.KubeRouter != nil },
		func(w *Networking) []decode.Field { return allocate(&w.KubeRouter).fields() }},
	{"kubenet", func(w *Networking) bool { return w.Kubenet != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Kubenet).fields() }},
	{"lyftvpc", func(w *Networking) bool { return w.LyftVPC != nil },
		func(w *Networking) []decode.Field { return allocate(&w.LyftVPC).fields() }},
	{"romana", func(w *Networking) bool { return w.Romana != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Romana).fields() }},
	{"weave", func(w *Networking) bool { return w.Weave != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Weave).fields() }},
	{"aci", func(w *Networking) bool { return w.ACI != nil },
		func(w *Networking) []decode.Field { return allocate(&w.ACI).fields() }},
	{"classic", func(w *Networking) bool { return w.Classic != nil },
		func(w *Networking) []decode.Field { allocate(&w.Classic); return nil }},
	{"cniGenie", func(w *Networking) bool { return w.CNIGenie != nil },
		func(w *Networking) []decode.Field { allocate(&w.CNIGenie); return nil }},
	{"contivVPP", func(w *Networking) bool { return w.ContivVPP != nil },
		func(w *Networking) []decode.Field { allocate(&w.ContivVPP); return nil }},
	{"contrail", func(w *Networking) bool { return w.Contrail != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Contrail).fields() }},
	{"danm", func(w *Networking) bool { return w.DANM != nil },
		func(w *Networking) []decode.Field { allocate(&w.DANM); return nil }},
	{"jaguar", func(w *Networking) bool { return w.Jaguar != nil },
		func(w *Networking) []decode.Field { allocate(&w.Jaguar); return nil }},
	{"kVSwitch", func(w *Networking) bool { return w.KVSwitch != nil },
		func(w *Networking) []decode.Field { return allocate(&w.KVSwitch).fields() }},
	{"knitter", func(w *Networking) bool { return w.Knitter != nil },
		func(w *Networking) []decode.Field { allocate(&w.Knitter); return nil }},
	{"nsxT", func(w *Networking) bool { return w.NSXT != nil },
		func(w *Networking) []decode.Field { allocate(&w.NSXT); return nil }},
	{"ovn4nfv", func(w *Networking) bool { return w.OVN4NFV != nil },
		func(w *Networking) []decode.Field { allocate(&w.OVN4NFV); return nil }},
	{"antrea", func(w *Networking) bool { return w.Antrea != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Antrea).fields() }},
	{"azure", func(w *Networking) bool { return w.Azure != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Azure).fields() }},
	{"coil", func(w *Networking) bool { return w.Coil != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Coil).fields() }},
	{"hybridnet", func(w *Networking) bool { return w.Hybridnet != nil },
		func(w *Networking) []decode.Field { return allocate(&w.Hybridnet).fields() }},
	{"kubeOVN", func(w *Networking) bool { return w.KubeOVN != nil },
		func(w *Networking) []decode.Field { return allocate(&w.KubeOVN).fields() }},
	{"ovnKubernetes", func(w *Networking) bool { return w.OVNKubernetes != nil },
		func(w *Networking) []decode.Field { return allocate(&w.OVNKubernetes).fields() }},
}

// Supported are the keys that choose a network, by name.
func Supported() []string {
	var names []string
	for _, c := range choices {
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
// what to use instead, and nobody who looks for a network is shown them.
var goneNetworks = [...]string{"classic", "jaguar"}

// PodsOfVPC reports whether pods have addresses of the nodes' own network: then theirs lie within
// it.
func (n *Networking) PodsOfVPC() bool {
	return n.AmazonVPC != nil || n.Cilium != nil && n.Cilium.ENI() || n.GCP != nil || n.CNI != nil || n.Custom != nil ||
		n.LyftVPC != nil || n.Azure != nil
}

// Chosen are the networks that are set, in the order of the list, without what "bring your own" is.
func (n *Networking) Chosen() []string {
	var names []string
	for _, c := range choices {
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
	for _, c := range choices {
		fields = append(fields, decode.Field{Name: c.name, Unlisted: slices.Contains(goneNetworks[:], c.name),
			Set: func(d *decode.Decoder, v *document.Value, at string) {
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

// SharedFields are the fields of spec.networking that belong to no single network. kOps has no word
// for them.
func (n *Networking) SharedFields() []decode.Field {
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
	for _, c := range choices {
		if c.name == name {
			return n.fieldsOf(c, cni), true
		}
	}
	return nil, false
}

// IsNetwork reports whether a key below spec.networking chooses a network, also one that is gone.
func IsNetwork(key string) bool {
	return slices.ContainsFunc(choices, func(c choice) bool { return c.name == key })
}
