// Package rollout decides which configuration of a node is in force: the one in the store, or the
// one that the node took last. The latter is in force while the new one waits for its turn, and
// while the store cannot be reached.
package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/pkg/tasks"
)

// A node takes a changed configuration when the spec.update in that configuration allows it
// (docs/adr/0016-update.md). Until then a pass works towards the last taken configuration with its
// documents: it repairs drift and renews certificates, and applies nothing of the new one.

// theAgent is recorded as the approver of a configuration that its own documents let go.
const theAgent = "spec.update"

// Rollout has what the decision needs: the host, and who asks.
type Rollout struct {
	Host   host.Options
	Log    *zap.Logger
	Assets tasks.Fetcher
	API    *access.API   // used to cordon the node; nil: it is not cordoned
	Trust  *trust.Policy // the policy for the store's manifests; nil: there is none
	// TakeNow is the person who approves a configuration that would wait because of spec.update;
	// "": nobody does.
	TakeNow string
	// AllowDisruptive lets a machine have another name, whatever the documents say.
	AllowDisruptive bool
	Anywhere        bool // spec.update also applies below a root that is not a node's
}

// Planned is what a configuration would change.
type Planned struct {
	*report.Plan
	Fingerprint string // identifies what the configuration makes of the node
}

// Take returns the configuration that the pass works towards: d itself, or the one in force while
// d waits. It saves who approved d before the first change of d. A run that is killed then
// continues with d, whatever the time is. plan returns what d would change. It returns nil if the
// plan fails; the pass itself then meets and reports the same error.
func (r Rollout) Take(
	ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger, plan func() *Planned,
) (*desired.State, error) {
	if why := r.renamed(d, h.Live.Files, led); why != nil {
		return r.underFormerName(ctx, d, why, h, led)
	}
	good := r.Changes(ctx, d, h.Live.Files, led)
	if good == nil {
		return d, nil
	}
	was, u := r.waits(d, h.Live.Files)
	if why := r.Verdict(h.Live.Files, d); why != nil {
		out, err := r.Effective(ctx, d, good,
			&report.Waiting{Generation: u.Generation, Digest: u.Digest, Reason: why.Error()}, h, led)
		if err == nil && !why.Unconfirmed {
			out.Undone = why
		}
		return out, err
	}
	switch {
	case u.LetGo != "":
		return d, nil
	case r.TakeNow != "":
		u.LetGo = r.TakeNow
	case booting(ctx, h.Live.View()) && !d.Node.Update.Freeze:
		u.LetGo = "the boot"
	}
	if u.LetGo != "" {
		err := ledger.SaveUpdate(ctx, h.Files, &u)
		if err != nil && r.TakeNow == "" {
			return r.Effective(ctx, d, good, unnoted(&u, err), h, led)
		}
		return d, err
	}
	planned := plan()
	if planned == nil {
		return d, nil
	}
	w := weigh(planned, d.Node, &u, was.Digest, neverRight(led), ledger.ClockOf(h.Live.Files, time.Now()))
	if u != was && (w != nil || u.LetGo != "") { // otherwise nothing on the disk changes
		if err := ledger.SaveUpdate(ctx, h.Files, &u); err != nil {
			w = unnoted(&u, err)
		}
	}
	if w == nil {
		return d, nil
	}
	out, err := r.Effective(ctx, d, good, w, h, led)
	if err == nil {
		out.Renew(d.Keypairs)
	}
	return out, err
}

// Verdict returns why a checkpoint holds a generation back, or nil. A generation that was undone
// only because nobody confirmed it is not known to be bad, so a person who asks for it gets it.
func (r Rollout) Verdict(files host.FileReader, d *desired.State) *checkpoint.SuppressedError {
	why := checkpoint.Suppressed(files, d.Snapshot.Digest, time.Now())
	if why != nil && why.Unconfirmed && r.TakeNow != "" {
		return nil
	}
	return why
}

// unnoted returns why a configuration waits whose state cannot be saved, for example because the
// disk is full. Meanwhile the pass keeps the configuration in force.
func unnoted(u *ledger.Update, err error) *report.Waiting {
	return &report.Waiting{Generation: u.Generation, Digest: u.Digest, Class: u.Class,
		Reason: "this node cannot record when the wait began: " + desired.OneLine(err)}
}

// WaitAgain revokes a person's approval of a configuration whose pass failed. Otherwise the daemon
// would apply the rest later, while nobody watches.
func WaitAgain(ctx context.Context, h *host.Host, was *ledger.Update) error {
	switch now, err := ledger.ReadUpdate(h.Live.Files); {
	case err != nil || now == nil || was != nil && *now == *was:
		return nil
	case was != nil && ledger.SaveUpdate(ctx, h.Files, was) == nil:
		return nil
	}
	return ledger.DropUpdate(h.Files) // this needs no space; the waiting time starts again
}

// waits returns what the disk records about a waiting configuration, and what follows from that
// for d. A person's approval of an earlier configuration does not count for d.
func (r Rollout) waits(d *desired.State, files ledger.Reader) (was, now ledger.Update) {
	u, err := ledger.ReadUpdate(files)
	if err != nil && r.Log != nil {
		r.Log.Warn("it is not known since when a configuration waits", zap.Error(err))
	}
	if u != nil {
		was = *u
	}
	now = was
	if was.Digest != d.Snapshot.Digest {
		now.Generation, now.Digest, now.LetGo = d.Snapshot.Generation, d.Snapshot.Digest, ""
		now.Keys = strings.Join(r.trusted(), " ")
	}
	return was, now
}

// Changes returns the configuration that the node took last if d differs from it, and nil if d
// need not wait. If the record of the last configuration is unreadable, the current revision
// stands in for it: the returned value then names no configuration. Without a revision there is
// nothing to keep in force, so d need not wait.
func (r Rollout) Changes(
	ctx context.Context, d *desired.State, files hostfs.Files, led *ledger.Ledger,
) *ledger.LastGood {
	if d == nil || d.Pinned != nil || led.Head().Pin != nil || led.Baked() || !r.Host.Running() && !r.Anywhere {
		return nil
	}
	good, err := ledger.ReadLastGood(files)
	if err != nil {
		good = &ledger.LastGood{}
		if made, _ := ledger.ReadApplied(files); made != nil {
			good.Digest = made.Digest
		}
	}
	if good == nil || good.Digest == d.Snapshot.Digest {
		return nil // a node that never took a configuration takes d at once
	}
	if neverRight(led) {
		if _, err := r.LoadCached(ctx, files, good, d.Sel); err != nil {
			return nil
		}
	}
	return good
}

// neverRight reports whether no pass has ever succeeded on the node. The node may run pods all the
// same.
func neverRight(led *ledger.Ledger) bool { return led.Head().Current == 0 }

// booting reports whether kubelet has not run since the boot. A restart then disturbs nobody.
// systemd has no start time for such a unit.
func booting(ctx context.Context, v host.View) bool {
	unit := v.Facts.Kubelet.Unit
	if unit == "" {
		return false
	}
	have, err := v.Units.Unit(ctx, unit)
	return err == nil && have.Active == "inactive" && have.Invocation == ""
}

// weigh returns why a planned change waits, or nil if it does not. It records its findings in u.
// before is the digest of the configuration that waited before. If the fingerprint is the same,
// only values of other parties are new, such as a node that joins: it is the same change. A node
// that was never right waits only until the change is meant for it, because the repair of such a
// node would interrupt it as much without the change.
func weigh(
	plan *Planned, node *config.Node, u *ledger.Update, before string, neverRight bool, clock ledger.Clock,
) *report.Waiting {
	class, why, changes := intended(plan.Plan)
	if !changes {
		return nil
	}
	now := clock.Now.UTC().Truncate(time.Second)
	same := plan.Fingerprint == cmp.Or(u.Latest, u.Fingerprint) // the same change has waited since u.Since
	if u.Fingerprint == "" || !same && u.Digest != before {
		u.Fingerprint, u.Since, u.Free = plan.Fingerprint, now, time.Time{}
	}
	u.Latest = plan.Fingerprint
	u.Class = class.String()
	if neverRight {
		class = tasks.ClassLive
	}
	w := &report.Waiting{Generation: u.Generation, Digest: u.Digest, Class: u.Class,
		Reason: blockedReason(node, class, why, Bucket(node.Name, u.Fingerprint))}
	if w.Reason != "" {
		u.Free = time.Time{}
		return w
	}
	free(u, now, clock)
	if w.Until, w.Reason = when(node.Update, node.Name, u.Free, now); class > tasks.ClassLive && w.Until.After(now) {
		return w
	}
	u.LetGo = theAgent
	return nil
}

// intended returns the class of what a plan changes on purpose. It ignores repairs, which would be
// made without the new configuration too.
func intended(plan *report.Plan) (class tasks.Class, why string, changes bool) {
	for s := range plan.In(report.Planned) {
		if s.Repair {
			continue
		}
		if c := tasks.ParseClass(s.Class); !changes || c > class {
			class, why = c, s.ClassWhy
		}
		changes = true
	}
	if c := tasks.ParseClass(plan.Class); changes && c == tasks.ClassReplace { // also if no step shows the replacement
		class, why = c, plan.ClassWhy
	}
	return class, why, changes
}

// Effective returns the configuration in force, with a note about the configuration that waits.
func (r Rollout) Effective(
	ctx context.Context, d *desired.State, good *ledger.LastGood, w *report.Waiting, h *host.Host, led *ledger.Ledger,
) (*desired.State, error) {
	var out *desired.State
	err := errors.New("no configuration is kept")
	if good != nil {
		out, err = r.LoadCached(ctx, h.Live.Files, good, d.Sel)
	}
	if err != nil { // another pin or a damaged file: the revision has less, but enough to keep what is there
		rev, worse := ledger.ReadRevision(h.Live.Files, led.Head().Current)
		if worse == nil {
			out, worse = desired.FromRevision(rev, h.Live.Files, r.Assets)
		}
		if worse != nil {
			return nil, fmt.Errorf("%s waits (%s), and the configuration in force cannot be repaired: %w; %w",
				generation.Name(w.Generation, w.Digest), w.Reason, err, worse)
		}
	}
	out.Waiting = w
	return out, nil
}

// blockedReason returns why a class of change waits until a person approves it or publishes
// something else; "": it does not wait.
func blockedReason(n *config.Node, class tasks.Class, why string, place int) string {
	switch u := n.Update; {
	case u.Freeze:
		return fmt.Sprintf("spec.update.freeze (%s) holds every changed configuration back: set it to false, "+
			"or apply this one on this node with `agent resume --apply`", n.Origin("spec.update.freeze"))
	case class > tasks.ParseClass(u.Auto):
		return fmt.Sprintf("its class is %s (%s), and spec.update.auto (%s) allows at most %s without "+
			"approval: apply it on this node with `agent resume --apply`",
			class, why, n.Origin("spec.update.auto"), u.Auto)
	case place >= u.Percent:
		return fmt.Sprintf("spec.update.percent (%s) is %d, and this node's place is %d of 0 to 99: raise "+
			"the percent above that place, or run `agent resume --apply` on this node",
			n.Origin("spec.update.percent"), u.Percent, place)
	}
	return ""
}

// Preview adds to the plan of a dry run how the daemon would take d. plan is as in [Rollout.Take].
func (r Rollout) Preview(
	ctx context.Context, out *report.Plan, d *desired.State, files hostfs.Files, led *ledger.Ledger, plan func() *Planned,
) {
	if why := r.renamed(d, files, led); why != nil {
		out.Notes = append(out.Notes,
			report.Note{Level: string(network.Error), Text: "none of these changes is made: " + why.Error()})
		return
	}
	if r.Changes(ctx, d, files, led) == nil {
		return
	}
	planned := plan()
	if planned == nil {
		return
	}
	was, u := r.waits(d, files)
	if u.LetGo != "" {
		return
	}
	clock := ledger.ClockOf(files, time.Now())
	if out.Waiting = weigh(planned, d.Node, &u, was.Digest, neverRight(led), clock); out.Waiting != nil {
		out.Notes = append(out.Notes, report.Info("the daemon waits with it: "+out.Waiting.Reason+
			"; `agent --once` takes it now"))
	}
}

// EndUpdate records that a pass took d. Then no update waits any longer.
func (r Rollout) EndUpdate(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) error {
	if err := r.save(ctx, d, h, led); err != nil {
		return err
	}
	return ledger.DropUpdate(h.Files)
}
