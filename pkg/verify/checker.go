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

	confs   []tasks.CNIConf // in force, the network's own last
	proxy   string          // what is known of kube-proxy
	results []Result
}

func (c *checker) add(check string, state State, seen, next string) {
	c.results = append(c.results, Result{Check: check, State: state, Seen: seen, Next: next})
}

// Expect is what a node must show.
type Expect struct {
	Network      network.Network
	Conf         *tasks.WaitConf       // nil: this network has no conf in a directory
	HealthChecks []network.HealthCheck // those that apply
	// KubeProxy says whether documents say that kube-proxy runs here; nil: they do not say.
	KubeProxy *bool
	// ProxyMode is the mode that they say; "": they leave it open.
	ProxyMode string
	// Minimums are by plugin the oldest spec version that it must support.
	Minimums map[string]string
}
