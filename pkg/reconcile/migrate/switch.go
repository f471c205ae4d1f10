// Package migrate moves a node from the network that it has to the one that is wanted. It decides
// whether the switch is made now, in which order, and what is reported. It changes nothing itself:
// a switch is a set of tasks and edges of a pass.
package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Switch describes a node that has one network and shall have another. A nil Switch means that the
// node has the wanted network. See docs/adr/0010.
type Switch struct {
	network.Switch
	Had      ledger.Network
	wanted   *desired.State
	evidence string // what shows that the node has From
	allowed  string // who allowed a disruptive switch; "": nobody
	unit     string // kubelet's unit, if it runs: it is stopped and started
	scope    cleanup.Scope
	pods     []cri.Pod     // pods with an address of From
	found    []tasks.Found // the residue of From

	Blocked error // why the switch is not made now
	Waits   bool  // the switch only needs time
	Stuck   bool  // the switch is not made, and no revision describes the present network
}

// NotAllowedError reports a disruptive switch that nobody has allowed.
type NotAllowedError struct {
	From, To string
	Ask      string // what to write into the documents
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("the switch of networks from %s to %s is disruptive and not allowed, so the node keeps %s: %s; "+
		"`agent --dry-run` says what it does", e.From, e.To, e.From, e.Ask)
}

// Kind implements [problem.KindOf].
func (e *NotAllowedError) Kind() problem.ID { return problem.SwitchNotAllowed }

// Circumstances are the properties of a pass on which the decision about a switch depends.
type Circumstances struct {
	Sandbox    bool                               // the host is thrown away after the pass
	Live       bool                               // the host is running, and no image
	Allowed    string                             // who allows a disruptive switch; "": nobody
	Suppressed func() *checkpoint.SuppressedError // why a checkpoint holds the wanted change back; nil: none does
}

// Leave decides how the node leaves its network for the wanted one. g is the graph of the wanted
// state d. It reads the host and changes nothing.
func Leave(
	ctx context.Context, d *desired.State, g *tasks.Graph, v host.View, led *ledger.Ledger, c Circumstances,
) (*Switch, error) {
	if c.Sandbox { // the host is thrown away after the pass
		return nil, nil
	}
	was, err := formerNetwork(ctx, d, v, led)
	if err != nil || was == nil {
		return nil, err
	}
	had := was.Network
	from, err := desired.Row(had)
	if err != nil {
		return nil, fmt.Errorf("leave %s: read from the ledger what it is: %w", had.Name, err)
	}
	to, err := desired.Row(d.NetworkAfter(had))
	if err != nil {
		return nil, fmt.Errorf("switch from %s to %s: %w", had.Name, d.Network(), err)
	}
	if had.Multus && d.Pinned == nil && !d.Multus() { // a revision does not record whether the node has Multus
		from = from.WithMultus()
	}
	s := &Switch{Switch: network.Between(from, to), Had: had, wanted: d, evidence: was.evidence}
	spec := d.SwitchSpec()
	if s.Stays && spec.From == had.Name {
		s.Stays, s.Safe = false, false
		s.Reason = fmt.Sprintf("%s is removed, as %s names it, and pods have no network until you install "+
			"another one",
			had.Name, d.Node.Origin("spec.networking.switch.from"))
	}
	if s.scope = s.reach(d, g, had, led); !s.Stays {
		if err := s.look(ctx, v, c.Live); err != nil {
			return nil, err
		}
	}
	if had.Name == "cni" && len(s.pods) == 0 && confless(v) {
		s.Safe, s.Reason = true, "no CNI conf is in force: no network gave pods addresses here"
	}
	if (was.unmanaged || was.arrived) && spec.From != "" && len(s.found) == 0 {
		return nil, nil // the network was only expected, or is gone
	}
	switch {
	case !c.Live:
		s.Safe, s.Reason = true, "no pod runs in an image"
	case !was.unmanaged && led.Baked():
		s.Safe, s.Reason = true, "the image contains it, and this machine never used it"
	}
	s.allowed = c.Allowed
	s.decide(ctx, v, spec, was, c.Suppressed())
	return s, nil
}

// decide decides whether the switch is made in this pass.
func (s *Switch) decide(
	ctx context.Context, v host.View, spec networks.Switch, was *former, verdict *checkpoint.SuppressedError,
) {
	alive := slices.ContainsFunc(s.pods, func(p cri.Pod) bool { return p.Ready })
	switch {
	case spec.From != "" && spec.From != was.Name:
		s.Blocked = fmt.Errorf("the node has %s by %s, and switch.from (%s) expects %s, so nothing is changed: correct "+
			"it, or take it out",
			was.Name, s.evidence, s.wanted.Node.Origin("spec.networking.switch.from"), spec.From)
	case was.unmanaged && spec.From == "":
		s.Blocked = &NotAllowedError{s.From.Name, s.To.Name,
			fmt.Sprintf("netwright did not install it; to have it removed, set spec.networking.switch: "+
				"{allow: true, from: %s}", was.Name)}
	case !s.Safe && s.allowed == "":
		s.Blocked = &NotAllowedError{s.From.Name, s.To.Name,
			"allow it with spec.networking.switch: {allow: true}, or once with --allow-disruptive"}
	case verdict != nil:
		s.Blocked = verdict
	case s.Stays:
	case s.evict().Running(ctx, v) != nil:
		s.Blocked = s.evict().Running(ctx, v)
	case alive && s.allowed == "":
		s.Blocked, s.Waits = fmt.Errorf("the %s with an address of %s: drain the node, or allow it with "+
			"spec.networking.switch: {allow: true}", plural.Of(len(s.pods), "pod"), s.From.Name), true
	case alive && spec.Pods == networks.Wait:
		s.Blocked, s.Waits = fmt.Errorf("the %s with an address of %s (switch.pods is wait): drain the node",
			plural.Of(len(s.pods), "pod"), s.From.Name), true
	}
}

// AllowedBy returns who allowed a disruptive switch; "": nobody. flag means that the person who
// started the pass allows it.
func AllowedBy(d *desired.State, led *ledger.Ledger, flag bool) string {
	pin := led.Head().Pin
	switch {
	case flag:
		return "--allow-disruptive"
	case d.Pinned != nil && pin != nil && pin.Disruptive:
		return "the rollback of " + pin.By
	case d.SwitchSpec().Allow:
		return d.Node.Origin("spec.networking.switch.allow").String()
	}
	return ""
}
