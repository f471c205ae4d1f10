// Package networks has the networks that documents can choose, each in its own file: its name,
// fields and defaults, and what it refuses. What a network does on a node is in pkg/model.
//
// # Files
//
//   - the choice, and what all networks share: networking, fill_and_check, cluster_settings
//   - spec.networking.switch and bridgeNetfilter: network_switch, bridge_netfilter
//   - the network that a document itself describes: custom*
//   - one network each: *
package networks

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Networking has the one network of the cluster. After Load exactly one pointer to a network is
// set.
type Networking struct {
	// BridgeNetfilter: Says whether bridged packets go through iptables. The agent writes 1 or 0 to
	// net.bridge.bridge-nf-call-iptables and -ip6tables. unmanaged leaves both alone. Without it,
	// the network decides.
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
	GCP        *Bare       `json:"gcp,omitempty"`
	Kindnet    *Kindnet    `json:"kindnet,omitempty"`
	Kopeio     *Bare       `json:"kopeio,omitempty"`
	KubeRouter *KubeRouter `json:"kubeRouter,omitempty"`
	Kubenet    *Kubenet    `json:"kubenet,omitempty"`
	LyftVPC    *LyftVPC    `json:"lyftvpc,omitempty"`
	Romana     *Romana     `json:"romana,omitempty"`
	Weave      *Weave      `json:"weave,omitempty"`

	Multus *Multus `json:"multus,omitempty"` // beside the one network, not counted as one

	// Switch: Says how a node leaves the network that it has for another one.
	Switch *Switch `json:"switch,omitempty"`
}

// Name returns the key under spec.networking that selects the network, for example "bridge" or
// "cni". It returns "" if none is set.
func (n *Networking) Name() string {
	for _, c := range choices {
		if c.name != byoNetwork && c.said(n) != nil {
			return c.name
		}
	}
	if n.CNI != nil {
		return byoNetwork
	}
	return ""
}

// choices lists the networks: kOps' present and former networks, networks that ended, that nobody
// maintains or that need their vendor, and networks that kOps never had.
var choices = []choice{
	network("amazonVPC", func(w *Networking) **AmazonVPC { return &w.AmazonVPC }),
	network("bridge", func(w *Networking) **Bridge { return &w.Bridge }),
	network("calico", func(w *Networking) **Calico { return &w.Calico }),
	network("canal", func(w *Networking) **Canal { return &w.Canal }),
	network("cilium", func(w *Networking) **Cilium { return &w.Cilium }),
	network(byoNetwork, func(w *Networking) **CNI { return &w.CNI }),
	network("custom", func(w *Networking) **Custom { return &w.Custom }),
	network("external", func(w *Networking) **Bare { return &w.External }),
	network("flannel", func(w *Networking) **Flannel { return &w.Flannel }),
	network("gcp", func(w *Networking) **Bare { return &w.GCP }),
	network("kindnet", func(w *Networking) **Kindnet { return &w.Kindnet }),
	network("kopeio", func(w *Networking) **Bare { return &w.Kopeio }),
	network("kubeRouter", func(w *Networking) **KubeRouter { return &w.KubeRouter }),
	network("kubenet", func(w *Networking) **Kubenet { return &w.Kubenet }),
	network("lyftvpc", func(w *Networking) **LyftVPC { return &w.LyftVPC }),
	network("romana", func(w *Networking) **Romana { return &w.Romana }),
	network("weave", func(w *Networking) **Weave { return &w.Weave }),
	network("aci", func(w *Networking) **ACI { return &w.ACI }),
	network("classic", func(w *Networking) **Bare { return &w.Classic }),
	network("cniGenie", func(w *Networking) **Bare { return &w.CNIGenie }),
	network("contivVPP", func(w *Networking) **Bare { return &w.ContivVPP }),
	network("contrail", func(w *Networking) **Contrail { return &w.Contrail }),
	network("danm", func(w *Networking) **Bare { return &w.DANM }),
	network("jaguar", func(w *Networking) **Bare { return &w.Jaguar }),
	network("kVSwitch", func(w *Networking) **KVSwitch { return &w.KVSwitch }),
	network("knitter", func(w *Networking) **Bare { return &w.Knitter }),
	network("nsxT", func(w *Networking) **Bare { return &w.NSXT }),
	network("ovn4nfv", func(w *Networking) **Bare { return &w.OVN4NFV }),
	network("antrea", func(w *Networking) **Antrea { return &w.Antrea }),
	network("azure", func(w *Networking) **Azure { return &w.Azure }),
	network("coil", func(w *Networking) **Coil { return &w.Coil }),
	network("hybridnet", func(w *Networking) **Hybridnet { return &w.Hybridnet }),
	network("kubeOVN", func(w *Networking) **KubeOVN { return &w.KubeOVN }),
	network("ovnKubernetes", func(w *Networking) **OVNKubernetes { return &w.OVNKubernetes }),
}

// Supported returns the keys that choose a network, sorted by name.
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

// choice is a network that documents can select. A new network needs its type in [Networking], its
// fields, and a line in choices.
type choice struct {
	name   string
	said   func(*Networking) part // returns nil if documents do not choose the network
	choose func(*Networking) part // returns the same, and creates it if there is none yet
}

// part is what one key under spec.networking holds: a network, multus or switch.
type part interface{ fields() []decode.Field }

// filler is a part whose defaults depend on other fields. fill sets fields that no document sets.
type filler interface {
	fill(s *ClusterSettings, o decode.Origins)
}

// checker is a part that refuses values which do not work, and warns about values without effect.
type checker interface {
	check(s *ClusterSettings, r *decode.Reporter)
}

// network returns the choice for one field of [Networking].
func network[T any, P interface {
	*T
	part
}](name string, at func(*Networking) **T) choice {
	return choice{name,
		func(w *Networking) part {
			if *at(w) == nil {
				return nil
			}
			return P(*at(w))
		},
		func(w *Networking) part { return P(allocate(at(w))) }}
}

// byoNetwork selects a network of your own or sets directories: see [CNI].
const byoNetwork = "cni"

// goneNetworks are networks that no longer exist. Documents may name them. The model refuses them
// and says what to use instead. Lists of networks leave them out.
var goneNetworks = [...]string{"classic", "jaguar"}

// PodsOfVPC reports whether pods have addresses of the nodes' own network, so that their range lies
// within that network.
func (n *Networking) PodsOfVPC() bool {
	return n.AmazonVPC != nil || n.Cilium != nil && n.Cilium.ENI() || n.GCP != nil || n.CNI != nil || n.Custom != nil ||
		n.LyftVPC != nil || n.Azure != nil
}

// Chosen returns the networks that are set, in the order of choices, without cni.
func (n *Networking) Chosen() []string {
	var names []string
	for _, c := range choices {
		if c.name != byoNetwork && c.said(n) != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// Fields returns the fields of spec.networking that choose the network. cni receives the fields
// under cni.
func (n *Networking) Fields(cni *CNI) []decode.Field {
	var fields []decode.Field
	for _, c := range choices {
		f := decode.Field{Name: c.name, Set: func(v decode.Reading) {
			v.Mapping(n.fieldsOf(c, cni))
		}}
		if slices.Contains(goneNetworks[:], c.name) {
			f = f.Unlisted()
		}
		fields = append(fields, f)
	}
	return fields
}

func (n *Networking) fieldsOf(c choice, cni *CNI) []decode.Field {
	if c.name == byoNetwork {
		n.CNI = cni
	}
	return c.choose(n).fields()
}

// MultusField returns the field of multus, which is set beside the network.
func (n *Networking) MultusField() decode.Field {
	return decode.Into("multus", func() []decode.Field { return allocate(&n.Multus).fields() })
}

// SharedFields returns the fields of spec.networking that belong to no single network. kOps has no
// such fields.
func (n *Networking) SharedFields() []decode.Field {
	return []decode.Field{
		{Name: "bridgeNetfilter", Set: bridgeNetfilter(&n.BridgeNetfilter)},
		decode.Into("switch", func() []decode.Field { return allocate(&n.Switch).fields() }),
	}
}

// FieldsOf returns the fields of one network or of multus, and chooses that network. known is false
// if no network has the name.
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

// IsNetwork reports whether a key under spec.networking chooses a network, even one that no longer
// exists.
func IsNetwork(key string) bool {
	return slices.ContainsFunc(choices, func(c choice) bool { return c.name == key })
}
