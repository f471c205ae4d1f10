package facts

import "context"

// forward reads the policy for forwarded packets: "drop" if any chain of the family drops them, as
// on a Docker host, else "accept".
func (g gatherer) forward(ctx context.Context) {
	if !g.opt.live() {
		return
	}
	policies, err := g.firewall.ForwardPolicies(ctx)
	if err != nil {
		g.problem("read the policies of forwarding (it needs root)", err)
		return
	}
	g.facts.ForwardPolicy = policies
}
