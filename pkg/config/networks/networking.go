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
	for _, c := range n.choices() {
		if c.name != byoNetwork && c.said() != nil {
			return c.name
		}
	}
	if n.CNI != nil {
		return byoNetwork
	}
	return ""
}

// choices lists the networks: kOps' present and former networks, networks that ended, that nobody
// maintains or that need their vendor, and networks that kOps never had. It is an array, so that
// nothing is allocated.
func (n *Networking) choices() [34]choice {
	return [...]choice{
		network("amazonVPC", &n.AmazonVPC),
		network("bridge", &n.Bridge),
		network("calico", &n.Calico),
		network("canal", &n.Canal),
		network("cilium", &n.Cilium),
		network(byoNetwork, &n.CNI),
		network("custom", &n.Custom),
		network("external", &n.External),
		network("flannel", &n.Flannel),
		network("gcp", &n.GCP),
		network("kindnet", &n.Kindnet),
		network("kopeio", &n.Kopeio),
		network("kubeRouter", &n.KubeRouter),
		network("kubenet", &n.Kubenet),
		network("lyftvpc", &n.LyftVPC),
		network("romana", &n.Romana),
		network("weave", &n.Weave),
		network("aci", &n.ACI),
		network("classic", &n.Classic),
		network("cniGenie", &n.CNIGenie),
		network("contivVPP", &n.ContivVPP),
		network("contrail", &n.Contrail),
		network("danm", &n.DANM),
		network("jaguar", &n.Jaguar),
		network("kVSwitch", &n.KVSwitch),
		network("knitter", &n.Knitter),
		network("nsxT", &n.NSXT),
		network("ovn4nfv", &n.OVN4NFV),
		network("antrea", &n.Antrea),
		network("azure", &n.Azure),
		network("coil", &n.Coil),
		network("hybridnet", &n.Hybridnet),
		network("kubeOVN", &n.KubeOVN),
		network("ovnKubernetes", &n.OVNKubernetes),
	}
}

// Supported returns the keys that choose a network, sorted by name.
func Supported() []string {
	var names []string
	for _, c := range new(Networking).choices() {
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
	name string
	networkField
}

// networkField is the field of [Networking] for a network.
type networkField interface {
	said() part   // returns nil if documents do not choose the network
	choose() part // returns the same, and creates it if there is none yet
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
func network[T any, P fieldsOf[T]](name string, at **T) choice {
	return choice{name, pointer[T, P]{at}}
}

// fieldsOf is a pointer to a type of network.
type fieldsOf[T any] interface {
	*T
	part
}

type pointer[T any, P fieldsOf[T]] struct{ to **T }

func (p pointer[T, P]) said() part {
	if *p.to == nil {
		return nil
	}
	return P(*p.to)
}

func (p pointer[T, P]) choose() part { return P(allocate(p.to)) }

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
	for _, c := range n.choices() {
		if c.name != byoNetwork && c.said() != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// Fields returns the fields of spec.networking that choose the network. cni receives the fields
// under cni.
func (n *Networking) Fields(cni *CNI) []decode.Field {
	var fields []decode.Field
	for _, c := range n.choices() {
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
	return c.choose().fields()
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
	for _, c := range n.choices() {
		if c.name == name {
			return n.fieldsOf(c, cni), true
		}
	}
	return nil, false
}

// IsNetwork reports whether a key under spec.networking chooses a network, even one that no longer
// exists.
func IsNetwork(key string) bool {
	all := new(Networking).choices()
	return slices.ContainsFunc(all[:], func(c choice) bool { return c.name == key })
}
