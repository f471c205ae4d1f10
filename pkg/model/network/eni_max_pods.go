package network

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/plural"
)

// eniTypes is a line for each pair of limits, with the instance types that have it: "3x10
// m5.large,xlarge c5.large".
//
//go:embed eni_limits.txt
var eniTypes string

// eniLimits are how many interfaces an instance type may have, and how many IPv4 addresses each.
type eniLimits struct {
	Interfaces, Addresses int
	Prefixes              bool // a prefix may be delegated in the place of an address: Nitro
}

// limitsOf looks an instance type up. A type that is newer than the table is not known.
func limitsOf(instanceType string) (eniLimits, bool) {
	family, size, _ := strings.Cut(instanceType, ".")
	for line := range strings.Lines(eniTypes) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		for _, word := range words[1:] {
			name, sizes, ok := strings.Cut(word, ".")
			if !ok || name != family || !strings.Contains(","+sizes+",", ","+size+",") {
				continue
			}
			a, b, _ := strings.Cut(words[0], "x")
			enis, _ := strconv.Atoi(a) // a test reads the whole table
			addresses, _ := strconv.Atoi(b)
			return eniLimits{Interfaces: enis, Addresses: addresses, Prefixes: words[1] != "xen"}, true
		}
	}
	return eniLimits{}, false
}

// Bounds of the formula. kubelet's own default is what Kubernetes is tested with; kOps goes no
// higher either (nodeup/pkg/model/kubelet.go).
const (
	kubeletMaxPods = 110
	hostPods       = 2  // aws-node and kube-proxy take no address of the network's
	inPrefix       = 16 // addresses of a delegated /28
)

// pods is how many pods the addresses are enough for. An interface's own address is no pod's.
// custom: the primary interface has no pods (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG).
// https://github.com/awslabs/amazon-eks-ami/blob/v20260724/templates/al2/runtime/max-pods-calculator.sh
func (l eniLimits) pods(prefixes, custom bool) int {
	enis, each := l.Interfaces, l.Addresses-1
	if custom {
		enis--
	}
	if prefixes && l.Prefixes {
		each *= inPrefix
	}
	return enis*each + hostPods
}

// ENIPods tells that the number of pods of the node hangs on the instance's type, and nobody has
// said it: then it is worth asking the cloud.
func ENIPods(n *config.Node) bool {
	net := n.Networking
	return n.Kubelet.MaxPods == 0 && (net.AmazonVPC != nil || net.Cilium != nil && net.Cilium.ENI())
}

// fitENIs is --max-pods where pods have the addresses of the instance's interfaces: a pod that is
// one too many waits for an address for ever.
func (b *Built) fitENIs(in Input, prefixes, custom bool) {
	if !ENIPods(in.Node) {
		return
	}
	if in.Facts.Instance == nil {
		if in.Facts.Kernel.Release != "" { // an image boots on whatever it is given
			b.note(Info, in.NetworkOrigin(),
				"the instance's type is not known here, so kubelet keeps its maxPods: a pod beyond the interfaces' "+
					"addresses gets none")
		}
		return
	}
	limits, ok := limitsOf(in.Facts.Instance.Type)
	if !ok {
		b.note(Warning, in.NetworkOrigin(),
			"how many addresses an instance of type %s has is not known to this version, so kubelet keeps its "+
				"maxPods: set spec.kubelet.maxPods to interfaces × (addresses − 1) + 2",
			in.Facts.Instance.Type)
		return
	}
	if prefixes && !limits.Prefixes {
		b.note(Warning, in.NetworkOrigin(),
			"an instance of type %s has no delegated prefixes (it is not Nitro): there are addresses for %s",
			in.Facts.Instance.Type, plural.Of(limits.pods(false, custom), "pod"))
	}
	b.MaxPods = min(kubeletMaxPods, limits.pods(prefixes, custom))
}
