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

// note keeps what a check has shown; one that does not apply has shown nothing.
func (c *checker) note(check string, r Result) {
	if r.Check = check; r.State != "" {
		c.results = append(c.results, r)
	}
}

// What a check has shown, by its state; its name comes with [checker.note].

func well(seen string) Result          { return Result{State: OK, Seen: seen} }
func notApplicable(seen string) Result { return Result{State: NotApplicable, Seen: seen} }
func waiting(seen, next string) Result { return Result{State: Waiting, Seen: seen, Next: next} }
func failed(seen, next string) Result  { return Result{State: Failed, Seen: seen, Next: next} }

// Expect is what a node must show.
type Expect struct {
	Node         string // the name of its Node
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
