package report

import (
	"fmt"
)

// The kinds of a [Switch].
const (
	Safe       = "safe"
	Disruptive = "disruptive"
)

// Switch is the change of a node to another network, which its documents want. Beside it a plan has
// steps: those of the switch, or, where the switch is not made, those of the network that the node
// has.
type Switch struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Evidence is how the agent knows that the node has From: "the ledger", "10-calico.conflist in
	// /etc/cni/net.d".
	Evidence string `json:"known"`
	Kind     string `json:"kind"`   // Safe or Disruptive
	Reason   string `json:"reason"` // why it is safe, or what it disrupts
	// Allowed says who allowed a disruptive switch; "": nobody.
	Allowed string `json:"allowed,omitempty"`
	// Blocked says why the switch is not made now, and what to do; "": it is made, or was.
	Blocked string `json:"held,omitempty"`
	// Generation is the generation of the documents that want To.
	Generation int64  `json:"generation"`
	Removes    []Left `json:"removes"` // what From left here and the switch removes
	// Pods are the pods with an address of From, as namespace/name. The switch removes them, and
	// kubelet makes them again.
	Pods    []string `json:"pods"`
	Notices []string `json:"notices"` // what pods notice
	Order   []string `json:"order"`   // what happens, in order
	// Stays is what the agent does not remove, and who can.
	Stays []string `json:"stays,omitempty"`
}

// Left is one thing that a network left on the node.
type Left struct {
	Key    string `json:"key"`
	Detail string `json:"what"`
}

// switchOf writes the summary of a switch.
func (t *planText) switchOf(s *Switch) {
	if s == nil {
		return
	}
	color := yellow
	if s.Kind == Safe {
		color = green
	}
	t.line("switch of networks: %s → %s, %s", t.paint(bold, Line(s.From)), t.paint(bold, Line(s.To)),
		t.paint(color, s.Kind))
	t.indent("", s.Reason)
	if s.Blocked != "" {
		t.indent(t.paint(yellow, "not made:")+" ", s.Blocked)
	}
	if s.Allowed != "" {
		t.indent("", "allowed by "+s.Allowed)
	}
	t.indent("", "the node has "+s.From+" by "+s.Evidence)
	for _, notice := range s.Notices {
		t.indent(t.paint(dim, "pods:")+" ", notice)
	}
	for i, step := range s.Order {
		t.indent(t.paint(dim, fmt.Sprintf("%d.", i+1))+" ", step)
	}
	if s.Blocked != "" && len(s.Removes) > 0 { // otherwise the steps below show them
		t.indent("", "it would take away, of what "+s.From+" has here:")
		for _, left := range s.Removes {
			t.line("    %s %s  %s", t.paint(red, "-"), Line(left.Key), t.paint(dim, Line(left.Detail)))
		}
	}
	for _, stays := range s.Stays {
		t.indent(t.paint(dim, "stays:")+" ", stays)
	}
	t.gap()
}

// mostPods is how many pods of a switch are named.
const mostPods = 5

// Notice returns what happens to the pods of a switch, for Notices.
func (s *Switch) Notice() []string {
	out := []string{"no pod with an address of " + s.From + " is here"}
	if n := len(s.Pods); n == 1 {
		out[0] = "1 is removed, and made again by kubelet with " + s.To + "'s network: " + s.Pods[0]
	} else if n > 1 {
		out[0] = fmt.Sprintf("%d are removed, and made again by kubelet with %s's network: %s", n, s.To,
			listed(s.Pods, mostPods))
	}
	return append(out,
		"those on the node's own network (hostNetwork) go on; nothing is started here while kubelet is stopped")
}
