package verify

import (
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

type checker struct {
	view host.View
	run  *host.Host
	want Expect

	confs   []tasks.CNIConf // in force; the network's own conf is the last
	proxy   string          // what kubeProxy found, for other checks
	results []Result
}

// note stores the result of a check. A Result without a state says nothing, and is not stored.
func (c *checker) note(check string, r Result) {
	if r.Check = check; r.State != "" {
		c.results = append(c.results, r)
	}
}

// These return a result with its state; note sets its name.

func well(seen string) Result          { return Result{State: OK, Seen: seen} }
func notApplicable(seen string) Result { return Result{State: NotApplicable, Seen: seen} }
func waiting(seen, next string) Result { return Result{State: Waiting, Seen: seen, Next: next} }
func failed(seen, next string) Result  { return Result{State: Failed, Seen: seen, Next: next} }

// Expect is what a node must have.
type Expect struct {
	Node         string // the name of its Node
	Network      network.Network
	MTU          int                   // that another program shall write into the conf; 0: nothing is wanted
	Conf         *tasks.WaitConf       // nil: this network has no conf in a directory, or none without the pod CIDRs
	NoPodCIDRs   bool                  // the network waits for the pod CIDRs of this node
	HealthChecks []network.HealthCheck // those that apply to this node
	// KubeProxy is whether the documents say that kube-proxy runs here; nil: they do not say.
	KubeProxy *bool
	// ProxyMode is the mode in the documents; "": they leave it open.
	ProxyMode string
	// Minimums are the oldest spec versions that plugins must support, by plugin.
	Minimums map[string]string
}

// ifMissing returns what to do about a missing conf or plugin, by who writes it.
func (e *Expect) ifMissing() string {
	switch e.Network.Conf.Writer {
	case network.WriterNetwright:
		return "run `agent --once`"
	case network.WriterContainerd:
		return "containerd writes it when kubelet tells it the node's pod CIDR: `kubectl get node " + e.Node +
			" -o jsonpath={.spec.podCIDR}`"
	case network.WriterUser:
		return "apply the network's manifests"
	}
	return "look at the network's pod on this node: `kubectl get pods -A -o wide --field-selector spec.nodeName=" +
		e.Node + "`"
}
