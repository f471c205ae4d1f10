package networks

import (
	"cmp"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Switch is spec.networking.switch: what a node may do if the documents name another network than
// the node has. Without it, a disruptive switch is not made, and the node keeps its network.
type Switch struct {
	// Allow: true allows a disruptive switch. Without it, the node keeps the network that it has.
	// `--allow-disruptive` allows the switch once.
	Allow bool `json:"allow"`
	// From: Names the network that the nodes have now. The agent switches from no other one. If no
	// network is on record, the agent may remove this one.
	From string `json:"from,omitempty"`
	// Pods: Says what happens to pods with an address of the old network. remove: the runtime
	// removes them, and kubelet makes them again. wait: somebody must drain the node first.
	Pods string `json:"pods"`
}

// These are the values of [Switch].Pods: the runtime removes the pods, or the switch waits until
// somebody has drained the node.
const (
	RemovePods = "remove"
	Wait       = "wait"
)

func (s *Switch) fields() []decode.Field {
	s.Pods = cmp.Or(s.Pods, RemovePods)
	return []decode.Field{
		decode.Bool("allow", &s.Allow),
		decode.Choice("from", &s.From, Supported()...),
		decode.Choice("pods", &s.Pods, RemovePods, Wait),
	}
}

// check refuses a former network that equals the wanted one.
func (s *Switch) check(w *Networking, r *decode.Reporter) {
	name := w.Name()
	if s.From == name {
		r.ErrorAt("spec.networking.switch.from",
			document.Diagnostic{Summary: "switch.from is " + name + ", and so is the network that is wanted",
				Expected: "the network that the nodes have now", Hint: "take it out, or choose another network"})
	}
}
