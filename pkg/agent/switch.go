package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// switching is a node that has one network and is wanted to have another. Nil: it has the one that is wanted. See docs/adr/0010.
type switching struct {
	network.Switch
	wanted  *Desired
	known   string // what says that the node has From
	allowed string // by whom a disruptive one is; "": by nobody
	unit    string // kubelet's, where it runs: it is stopped and started
	scope   tasks.Scope
	pods    []host.Pod    // with an address of From
	found   []tasks.Found // what From left

	held  error // why it is not made now
	waits bool  // only time brings what is missing
	stuck bool  // it is not made, and no revision says how to keep what is there
}

// NotAllowedError is a disruptive switch that nobody allowed.
type NotAllowedError struct {
	From, To string
	Ask      string // what to write
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("the switch of networks from %s to %s is disruptive and not allowed, so the node keeps %s: %s; `agent --dry-run` says what it does", e.From, e.To, e.From, e.Ask)
}

// leave says how the node leaves its network for the one that is wanted; g is what d wants. It reads the host and changes nothing.
func (p Pass) leave(ctx context.Context, d *Desired, g *graph.Graph[tasks.Task], v host.View, led *ledger.Ledger) (*switching, error) {
	if p.Host.Sandbox { // everything there is thrown away
		return nil, nil
	}
	spec := d.switchSpec()
	had, known, err := hadNetwork(led, v)
	if err != nil {
		return nil, err
	}
	foreign := had.Name == ""
	switch {
	case spec.From != "" && (foreign || had.Name == "cni") && spec.From != d.network():
		had.Name, known = spec.From, d.Node.Origin("spec.networking.switch.from").String()
	case foreign:
		if had.Name, known, err = foreignNetwork(ctx, v, d.network()); err != nil {
			return nil, err
		}
	}
	if had.Name == "" || had.Name == d.network() {
		return nil, nil
	}
	s := &switching{Switch: network.Between(had.Name, d.network()), wanted: d, known: known}
	if s.Stays && spec.From == had.Name {
		s.Stays, s.Safe = false, false
		s.Reason = fmt.Sprintf("%s is taken away, as %s names it, and until you bring another network pods have none", had.Name, d.Node.Origin("spec.networking.switch.from"))
	}
	if had.Leftovers != "" {
		if err := json.Unmarshal([]byte(had.Leftovers), &s.From.Leftovers); err != nil {
			return nil, fmt.Errorf("leave %s: read from the ledger what it leaves: %w", had.Name, err)
		}
	}
	if s.scope = s.reach(d, g, had, led); !s.Stays {
		if err := s.look(ctx, v, p.live()); err != nil {
			return nil, err
		}
	}
	if had.Name == "cni" && len(s.pods) == 0 && confless(v) {
		s.Safe, s.Reason = true, "no CNI conf is in force: nothing gave pods a network here"
	}
	if foreign && spec.From != "" && len(s.found) == 0 {
		return nil, nil // it was only expected
	}
	if !p.live() {
		s.Safe, s.Reason = true, "nothing lives in an image"
	}
	s.allowed = p.allowedBy(d, led)
	s.hold(ctx, v, had, spec, foreign)
	return s, nil
}

// hold decides whether the switch is made now.
func (s *switching) hold(ctx context.Context, v host.View, had ledger.Network, spec config.Switch, foreign bool) {
	alive := slices.ContainsFunc(s.pods, func(p host.Pod) bool { return p.Ready })
	verdict := checkpoint.Held(v, s.wanted.Snapshot.Digest, time.Now())
	switch {
	case spec.From != "" && spec.From != had.Name:
		s.held = fmt.Errorf("the node has %s by %s, and switch.from (%s) expects %s, so nothing is changed: correct it, or take it out",
			had.Name, s.known, s.wanted.Node.Origin("spec.networking.switch.from"), spec.From)
	case foreign && spec.From == "":
		s.held = &NotAllowedError{s.From.Name, s.To.Name, fmt.Sprintf("netwright did not put it there; have it taken away with spec.networking.switch: {allow: true, from: %s}", s.From.Name)}
	case !s.Safe && s.allowed == "":
		s.held = &NotAllowedError{s.From.Name, s.To.Name, "allow it with spec.networking.switch: {allow: true}, or once with --allow-disruptive"}
	case verdict != nil:
		s.held = verdict
	case s.Stays:
	case s.evict().Running(ctx, v) != nil:
		s.held = s.evict().Running(ctx, v)
	case alive && s.allowed == "":
		s.held, s.waits = fmt.Errorf("the %d pods with an address of %s: drain the node, or allow it with spec.networking.switch: {allow: true}", len(s.pods), s.From.Name), true
	case alive && spec.Pods == config.Wait:
		s.held, s.waits = fmt.Errorf("the %d pods with an address of %s (switch.pods is wait): drain the node", len(s.pods), s.From.Name), true
	}
}

// allowedBy says who allowed a disruptive switch.
func (p Pass) allowedBy(d *Desired, led *ledger.Ledger) string {
	pin := led.Head().Held
	switch {
	case p.AllowDisruptive:
		return "--allow-disruptive"
	case d.held != nil && pin != nil && pin.Disruptive:
		return "the rollback of " + pin.By
	case d.switchSpec().Allow:
		return d.Node.Origin("spec.networking.switch.allow").String()
	}
	return ""
}

// switchSpec is what the documents say of a switch. A revision says nothing.
func (d *Desired) switchSpec() config.Switch {
	if d.held != nil || d.Node.Networking.Switch == nil {
		return config.Switch{}
	}
	return *d.Node.Networking.Switch
}

// hadNetwork is the network that the ledger knows the node by, and which part of it says so. Ledgers of before that was noted have it in the revision.
func hadNetwork(led *ledger.Ledger, r ledger.Reader) (ledger.Network, string, error) {
	had, number := led.Head().Network, led.Head().Current
	if had.Name != "" || number == 0 {
		return had, "the ledger", nil
	}
	rev, err := ledger.ReadRevision(r, number)
	if err != nil {
		return had, "", fmt.Errorf("find out which network the node has: %w", err)
	}
	return ledger.Network{Name: rev.Network}, fmt.Sprintf("revision %d", number), nil
}

// has is the network that a node has when d is applied.
func (d *Desired) has(before ledger.Network) ledger.Network {
	now := ledger.Network{Name: d.network(), PodCIDRs: d.Node.PodCIDR.String()}
	if d.held != nil && before.Name == now.Name {
		return before // a revision does not say it
	}
	if d.held == nil && d.Node.Networking.Custom != nil {
		row, _ := network.Of(d.Node)
		if text, err := json.Marshal(row.Leftovers); err == nil {
			now.Leftovers = string(text)
		}
	}
	return now
}

// foreignNetwork finds, on a node that the ledger knows nothing of, the network whose conf is in force and whose pods live. One that
// nobody uses any more is in nobody's way: `agent networks --found` tells of it.
func foreignNetwork(ctx context.Context, v host.View, wanted string) (name, known string, err error) {
	dir := confsOf(v)
	files, err := v.ReadDir(dir)
	if errors.Is(err, host.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("find out which network the node has: %w", err)
	}
	for _, file := range files { // in the runtime's order
		name := network.WithConf(file)
		if name == "" {
			continue
		}
		if name == wanted {
			return "", "", nil
		}
		pods, err := tasks.PodsWithAddress(ctx, v)
		if err != nil || !slices.ContainsFunc(pods, func(p host.Pod) bool { return p.Ready }) {
			return "", "", err
		}
		return name, "its conf " + path.Join(dir, file), nil
	}
	return "", "", nil
}

// confsOf is where the runtime has its confs.
func confsOf(v host.View) string { return cmp.Or(v.Facts().Runtime.ConfDir, "/etc/cni/net.d") }

// confless says that no conf is there, so that no pod can have got a network.
func confless(v host.View) bool {
	files, err := v.ReadDir(confsOf(v))
	return (err == nil || errors.Is(err, host.ErrNotExist)) && !slices.ContainsFunc(files, func(f string) bool {
		return isConf(v, tasks.FileKey(path.Join(confsOf(v), f)))
	})
}

// reach is where the leftovers of From are looked for, and what of them stays because somebody else wants it: the next network, and who may still use
// what the ledger retains.
func (s *switching) reach(d *Desired, g *graph.Graph[tasks.Task], had ledger.Network, led *ledger.Ledger) tasks.Scope {
	var out tasks.Scope
	for _, text := range strings.Split(had.PodCIDRs, ",") {
		if cidr, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			out.PodCIDRs = append(out.PodCIDRs, cidr)
		}
	}
	if len(out.PodCIDRs) == 0 {
		out.PodCIDRs = d.Node.PodCIDR
	}
	for _, t := range g.Order() {
		out.Keep = append(out.Keep, t.Owns()...)
	}
	for key, e := range led.Entries() {
		if e.Mode == ledger.Retained {
			out.Keep = append(out.Keep, key)
		}
	}
	return out
}

// look finds what From has on the node.
func (s *switching) look(ctx context.Context, v host.View, live bool) (err error) {
	facts := v.Facts()
	s.From.Leftovers = s.From.Leftovers.In(facts.Runtime.ConfDir, facts.Runtime.BinDirs...)
	if !live {
		s.From.Leftovers = s.From.Leftovers.OnDisk()
	} else if s.pods, err = tasks.PodsWithAddress(ctx, v); err != nil {
		return fmt.Errorf("leave %s: %w", s.From.Name, err)
	}
	if unit := facts.Kubelet.Unit; live && unit != "" {
		have, err := v.Unit(ctx, unit)
		if err != nil && !errors.Is(err, host.ErrNotHere) {
			return fmt.Errorf("leave %s: %w", s.From.Name, err)
		}
		if err == nil && tasks.Runs(have) {
			s.unit = unit
		}
	}
	s.found, err = s.From.Leftovers.Find(ctx, v, s.scope)
	if err != nil && !errors.Is(err, host.ErrNotHere) {
		return fmt.Errorf("look for what %s left: %w", s.From.Name, err)
	}
	return nil
}
