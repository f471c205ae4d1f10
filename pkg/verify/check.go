package verify

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// State is how one check ended.
type State string

// The states of a check.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Waiting State = "waiting"  // only time, or somebody else, brings it
	NotHere State = "not here" // cannot be told on this host
)

// Result is one check: what was looked at, how it is, and where it is not well what to do next.
type Result struct {
	Check string `json:"check"` // "conf", "plugin bridge", "runtime", "sign of life"
	State State  `json:"state"`
	Seen  string `json:"seen"`
	Next  string `json:"next,omitempty"`
}

// Expect is what a node must show.
type Expect struct {
	Network network.Network
	Conf    *tasks.WaitConf // nil: this network has no conf in a directory
	Signs   []network.Sign  // those that apply
	// KubeProxy says whether documents say that kube-proxy runs here; nil: they do not say.
	KubeProxy *bool
	// Minimums are by plugin the oldest spec version that it must support.
	Minimums map[string]string
}

// Check holds the host to what its network needs of it: the conf in force, the plugins that it
// calls, what the runtime has loaded, the network's own signs of life. It changes nothing. With run
// it starts each plugin to ask its VERSION, which CNI promises to have no effect; nil: none is
// started. An error is of the looking itself, and may be retried.
func Check(ctx context.Context, v host.View, run *host.Host, want Expect) ([]Result, error) {
	c := &checker{view: v, run: run, want: want}
	c.conf()
	c.plugins(ctx)
	c.runtime()
	c.kubelet(ctx)
	c.directories()
	c.kubeProxy(ctx, proxyHealth)
	c.clusterDNS(ctx)
	c.podsLogged(ctx)
	if err := c.signs(ctx); err != nil {
		return nil, err
	}
	return c.results, nil
}

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

// Worst is the state that decides: failed, then waiting, then ok.
func Worst(results []Result) State {
	worst := OK
	for _, r := range results {
		if r.State == Failed || r.State == Waiting && worst == OK {
			worst = r.State
		}
	}
	return worst
}
