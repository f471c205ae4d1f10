// Package rollout says which configuration of a node is in force: what the store has, or what the
// node took last, while the new one waits for its turn or the store cannot be had.
package rollout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/policy"
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

// A changed configuration is taken when spec.update of itself says so (docs/adr/0016-update.md).
// Until then the pass works towards the one that was taken last, with its documents: what drifts is
// repaired, certificates are renewed, and nothing of the new one is applied.

// theAgent is who lets a configuration go that its documents let go.
const theAgent = "spec.update"

// Rollout is who asks, and of which host.
type Rollout struct {
	Host   host.Options
	Log    *zap.Logger
	Assets tasks.Fetcher
	API    *access.API   // by which a node is cordoned; nil: it is not
	Trust  *trust.Policy // what the store is held against; nil: nothing
	// TakeNow is who lets a changed configuration go that would wait by spec.update; "": nobody.
	TakeNow string
	// AllowDisruptive lets a machine have another name, whatever the documents say.
	AllowDisruptive bool
	Anywhere        bool // spec.update holds also below a root that is no node's
}

// Planned is what a configuration would change.
type Planned struct {
	*report.Plan
	Fingerprint string // names what it makes of the node
}

// Take is what of d the pass works towards: d itself, or what is in force while d waits. Who lets d
// go is on the disk before its first change: a run that is killed then goes on with it, whatever
// the clock says by then. plan says what d would change; nil where it cannot be made, which the
// pass itself meets, and says.
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
	if u != was && (w != nil || u.LetGo != "") { // else nothing changes here
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

// Verdict holds a generation back. Of one that nobody confirmed nothing is known to be wrong: who
// asks for it has it.
func (r Rollout) Verdict(files host.FileReader, d *desired.State) *checkpoint.SuppressedError {
	why := checkpoint.Suppressed(files, d.Snapshot.Digest, time.Now())
	if why != nil && why.Unconfirmed && r.TakeNow != "" {
		return nil
	}
	return why
}

// unnoted is why a configuration waits of which cannot be written down that it is taken, or waits:
// for want of room. What is in force is kept right meanwhile.
func unnoted(u *ledger.Update, err error) *report.Waiting {
	return &report.Waiting{Generation: u.Generation, Digest: u.Digest, Class: u.Class,
		Reason: "it cannot be noted on this node: " + desired.OneLine(err)}
}

// WaitAgain takes back a person's approval of a configuration whose pass ended with an error: the
// daemon does not do the rest later, while nobody looks.
func WaitAgain(ctx context.Context, h *host.Host, was *ledger.Update) error {
	switch now, err := ledger.ReadUpdate(h.Live.Files); {
	case err != nil || now == nil || was != nil && *now == *was:
		return nil
	case was != nil && ledger.SaveUpdate(ctx, h.Files, was) == nil:
		return nil
	}
	return ledger.DropUpdate(h.Files) // that needs no room; since when it waits is seen anew
}

// waits is what the disk says of a configuration that is not taken yet, and what it means for d:
// that a person let an earlier one go says nothing of this one.
func (r Rollout) waits(d *desired.State, files ledger.Reader) (was, now ledger.Update) {
	u, err := ledger.ReadUpdate(files)
	if err != nil && r.Log != nil {
		r.Log.Warn("since when a configuration waits is not known", zap.Error(err))
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

// Changes says that d is another configuration than the node has taken last, which is returned;
// nil: nothing waits. Where it cannot be read which that was, it is any but the one that was made:
// what is returned names nothing then, and the revision stands in for it. Without a revision there
// is nothing to go on with.
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
		return nil // a node that never took one takes what there is
	}
	if neverRight(led) {
		if _, err := r.LoadCached(ctx, files, good, d.Sel); err != nil {
			return nil
		}
	}
	return good
}

// neverRight says that no pass has ended right on a node. It may run pods all the same.
func neverRight(led *ledger.Ledger) bool { return led.Head().Current == 0 }

// booting says that kubelet has not run since the boot: a restart disturbs nobody yet. Systemd
// knows no run of such a unit.
func booting(ctx context.Context, v host.View) bool {
	unit := v.Facts.Kubelet.Unit
	if unit == "" {
		return false
	}
	have, err := v.Units.Unit(ctx, unit)
	return err == nil && have.Active == "inactive" && have.Invocation == ""
}

// weigh says why what was planned waits; nil: it does not. What it has found stands in u. before is
// the digest of what waited before. Where that is the same, only what others say is new, such as a
// node that joins: this is the same change. On a node that was never right it waits for no more
// than to be meant for it: what makes it right would interrupt as much without the change.
func weigh(
	plan *Planned, node *config.Node, u *ledger.Update, before string, neverRight bool, clock ledger.Clock,
) *report.Waiting {
	class, why, changes := intended(plan.Plan)
	if !changes {
		return nil
	}
	now := clock.Now.UTC().Truncate(time.Second)
	same := plan.Fingerprint == cmp.Or(u.Latest, u.Fingerprint) // the node has known it for as long as it waits
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

// clockStep is by how much two clocks may differ until one was set.
const clockStep = time.Minute

// free notes since when only time holds a change back. A clock that is set meanwhile makes a splay
// neither shorter nor longer, or a fleet whose clocks are set ahead would take the change at one
// moment. Of another boot nothing is known: then one that was set back begins it anew.
func free(u *ledger.Update, now time.Time, clock ledger.Clock) {
	passed := clock.Up - u.FreeUp
	switch known := clock.Up > 0 && u.FreeUp > 0 && clock.Boot == u.FreeBoot && passed >= 0; {
	case u.Free.IsZero() || !known && u.Free.After(now):
		u.Free, u.FreeBoot, u.FreeUp = now, clock.Boot, clock.Up
	case known && (now.Sub(u.Free)-passed).Abs() > clockStep:
		u.Free = now.Add(-passed).Truncate(time.Second)
	}
}

// intended is the class of what a plan changes on purpose. What it brings back would be brought
// back without it too.
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
	if c := tasks.ParseClass(plan.Class); changes && c == tasks.ClassReplace { // also for what no step shows
		class, why = c, plan.ClassWhy
	}
	return class, why, changes
}

// Effective is the configuration that the node has, with what waits.
func (r Rollout) Effective(
	ctx context.Context, d *desired.State, good *ledger.LastGood, w *report.Waiting, h *host.Host, led *ledger.Ledger,
) (*desired.State, error) {
	var out *desired.State
	err := errors.New("no configuration is kept")
	if good != nil {
		out, err = r.LoadCached(ctx, h.Live.Files, good, d.Sel)
	}
	if err != nil { // another pin, a damaged file: the revision says less, and enough to keep what is there
		rev, worse := ledger.ReadRevision(h.Live.Files, led.Head().Current)
		if worse == nil {
			out, worse = desired.FromRevision(rev, h.Live.Files, r.Assets)
		}
		if worse != nil {
			return nil, fmt.Errorf("%s waits (%s), and what is in force cannot be kept right: %w; nor %w",
				generation.Name(w.Generation, w.Digest), w.Reason, err, worse)
		}
	}
	out.Waiting = w
	return out, nil
}

// blockedReason says why a class of change is not taken before a person says so, or publishes
// something else; "" if it is.
func blockedReason(n *config.Node, class tasks.Class, why string, place int) string {
	switch u := n.Update; {
	case u.Freeze:
		return fmt.Sprintf("spec.update.freeze (%s) holds every changed configuration back: it goes when that is "+
			"false, or on this node with `agent resume --apply`", n.Origin("spec.update.freeze"))
	case class > tasks.ParseClass(u.Auto):
		return fmt.Sprintf("its class is %s (%s), and spec.update.auto (%s) takes no more than %s by itself: let it "+
			"go on this node with `agent resume --apply`",
			class, why, n.Origin("spec.update.auto"), u.Auto)
	case place >= u.Percent:
		return fmt.Sprintf("spec.update.percent (%s) is %d, and this node is in place %d of 0 to 99: it goes when "+
			"that is raised above its place, or with `agent resume --apply`",
			n.Origin("spec.update.percent"), u.Percent, place)
	}
	return ""
}

// Preview says in a dry run's plan how the daemon would take d. plan is as in [Rollout.Take].
func (r Rollout) Preview(
	ctx context.Context, out *report.Plan, d *desired.State, files hostfs.Files, led *ledger.Ledger, plan func() *Planned,
) {
	if why := r.renamed(d, files, led); why != nil {
		out.Notes = append(out.Notes,
			report.Note{Level: string(network.Error), Text: "nothing of this is made: " + why.Error()})
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

// when is the moment from which a node takes a change that nothing but time has held back since
// free, and what is waited for. The nodes of a fleet are spread by their names over the splay, from
// when the change was free or the window began; never beyond the window, for else the last would
// not have theirs.
func when(u policy.Update, node string, free, now time.Time) (time.Time, string) {
	begin, span := free, time.Duration(u.Splay)
	from, until := u.Next(now)
	if from.After(begin) {
		begin = from
	}
	if !until.IsZero() {
		span = min(span, until.Sub(begin))
	}
	at := begin.Add(time.Duration(float64(span) * UnitHash(node))).Truncate(time.Second)
	if from.After(now) {
		return at, fmt.Sprintf("it is outside of spec.update.window: the next one begins at %s, and in it this node's "+
			"turn is at %s", report.Stamp(from), report.Stamp(at))
	}
	return at, fmt.Sprintf("the fleet is spread over spec.update.splay (%s): this node's turn is at %s", u.Splay,
		report.Stamp(at))
}

// Bucket is a node's among a hundred for one change: other changes have other first nodes. print
// names what the change makes of the node, and not the generation: raising the percent is one more
// generation, and who has taken the change shall stay among those that may.
func Bucket(node, print string) int { return int(UnitHash(node+"\x00"+print) * 100) }

// UnitHash is a number from 0 up to 1, without it, that a text has.
func UnitHash(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / math.Exp2(53)
}
