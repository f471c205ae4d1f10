package network

import (
	"cmp"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/config"
)

// rows are the networks with their names. A new network is a new file and one line here.
var rows = [...]struct {
	name string
	row  func() Network
}{
	{"aci", aci},
	{"amazonVPC", amazonVPC},
	{"antrea", antrea},
	{"azure", azure},
	{"bridge", bridge},
	{"calico", calico},
	{"canal", canal},
	{"cilium", cilium},
	{"classic", classic},
	{"cni", cni},
	{"cniGenie", cniGenie},
	{"coil", coil},
	{"contivVPP", contivVPP},
	{"contrail", contrail},
	{customName, func() Network { return custom(nil) }},
	{"danm", danm},
	{execPlugin, func() Network { return exec(execDir, "*/*") }},
	{"external", external},
	{"flannel", flannel},
	{"gcp", gcp},
	{"hybridnet", hybridnet},
	{"jaguar", jaguar},
	{"kVSwitch", kVSwitch},
	{"kindnet", kindnet},
	{"knitter", knitter},
	{"kopeio", kopeio},
	{"kubeOVN", kubeOVN},
	{"kubeRouter", kubeRouter},
	{"kubenet", kubenet},
	{"lyftvpc", lyftVPC},
	{multusName, func() Network { return multus(nil) }},
	{noopPlugin, noop},
	{"nsxT", nsxT},
	{"ovn4nfv", ovn4nfv},
	{"ovnKubernetes", ovnKubernetes},
	{"romana", romana},
	{"weave", weave},
}

// made caches the rows that have been built. A pass uses its own network several times and no
// other, so each row is built only when it is needed.
var made [len(rows)]struct {
	once sync.Once
	row  Network
}

// rowAt returns row i, and builds it at the first call.
func rowAt(i int) Network {
	made[i].once.Do(func() {
		row := rows[i].row()
		row.Name, row.Kubelet = rows[i].name, cmp.Or(row.Kubelet, "cni")
		row.Lifecycle.Disagreements = disagreementsOn(row.Name)
		row = row.withModes()
		row.Residue.Types = slices.Concat(row.Residue.Types, row.Conf.Chain)
		// What a network leaves begins with its conf: a row says it only as a part of a pattern.
		if conf := "/etc/cni/net.d/" + row.Conf.File; row.Conf.File != "" && !anyMatches(row.Residue.Files, conf) {
			row.Residue.Files = append([]string{conf}, row.Residue.Files...)
		}
		made[i].row = row
	})
	return made[i].row
}

// All lists the networks, sorted by name. The callers share the result: they may copy a row, but
// must not change it.
func All() []Network {
	all := make([]Network, len(rows))
	for i := range rows {
		all[i] = rowAt(i)
	}
	return all
}

// Of returns the network that a node's documents select: the row of that name, or the network that
// they declare. If they ask for multus, multus comes before that network. Every caller decides with
// Of, so that all agree.
func Of(n *config.Node) (Network, bool) {
	net, known := Find(n.Networking.Name())
	if old, is := legacy(n); is {
		net = old
	}
	if c := n.Networking.Custom; c != nil {
		net, known = custom(c), true
	}
	if m := n.Networking.Multus; m != nil && known {
		net = net.below(multus(m))
	}
	return net, known
}

// Find returns the row for a key under spec.networking.
func Find(name string) (Network, bool) {
	for i := range rows {
		if rows[i].name == name {
			return rowAt(i), true
		}
	}
	return Network{}, false
}
