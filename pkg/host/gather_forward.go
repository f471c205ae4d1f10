package host

import "context"

// forward tells what becomes of forwarded packets by policy: "drop" when any
// chain of the family drops, as on a Docker host, else "accept".
func (g gatherer) forward(ctx context.Context) {
	if !g.opt.live() {
		return
	}
	chains, err := g.ForwardChains(ctx)
	if err != nil {
		g.problem("read the policies of forwarding (it needs root)", err)
		return
	}
	g.facts.ForwardPolicy = map[string]string{"ip": "accept", "ip6": "accept"}
	for _, c := range chains {
		for name, family := range map[string]int{"ip": 4, "ip6": 6} {
			if c.Policy == "drop" && c.Concerns(family) {
				g.facts.ForwardPolicy[name] = "drop"
			}
		}
	}
}
