package reconcile

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// ProbationPoll is the longest wait before the next look while a unit may not yet run with its new
// settings, or while kubelet registers its Node.
const ProbationPoll = 5 * time.Second

// report returns what the plan would change.
func (r *plan) report() *report.Plan { return r.reportOf(r.steps, report.Planned) }

// reportOf reports on the plan. s has what was planned or made. notes are about how it was made.
func (r *plan) reportOf(s steps, changed report.State, notes ...report.Note) *report.Plan {
	waits := r.sw.Step()
	list := slices.Concat(s.wanted.Steps(changed, r.ownership.Judge.NotePods), s.unwanted.Steps(changed, nil), waits)
	p := r.desired.Report(r.notes, r.led, list, len(s.wanted.Rep.Results)+len(s.unwanted.Rep.Results)+len(waits))
	p.Switch, p.Kinds, p.PendingEffects = r.sw.Report(), kindsOf(s.wanted.Rep, s.unwanted.Rep),
		slices.Sorted(maps.Keys(r.led.Effects.List()))
	p.Again = changes.Soonest(r.ownership.Judge.Repairs().LookAgain(), s.wanted.Rep)
	r.raise(p)
	p.Notes = slices.Concat(p.Notes, notes, r.expiries, r.pruning.Notes, r.trials.Notes)
	if r.pruning.Graph != nil && len(s.unwanted.Rep.Results) == 0 {
		p.Notes = append(p.Notes, report.Info(plural.Of(r.pruning.Graph.Len(),
			"key is no longer wanted; it is removed", "keys are no longer wanted; they are removed")+
			" when all that is wanted is right"))
	}
	return p
}

// report returns what the pass has done. changed is the state of what it changed.
func (o *outcome) report(changed report.State) *report.Plan {
	made := steps{o.wanted.WithGone(o.plan.wanted.Changes), o.unwanted.WithGone(o.plan.unwanted.Changes)}
	p := o.plan.reportOf(made, changed, o.notes...)
	if o.lookAgain && (p.Again.IsZero() || time.Until(p.Again) > ProbationPoll) {
		p.Again = time.Now().Add(ProbationPoll)
	}
	return p
}

// kindsOf counts tasks by the kind of their first key.
func kindsOf(reps ...tasks.Report) map[string]int {
	out := map[string]int{}
	for _, rep := range reps {
		for i := range rep.Results {
			out[rep.Results[i].Key.Kind()]++
		}
	}
	return out
}

// made describes the change of the pass for the history, in case the change is taken back.
func (r *plan) made(p Pass) ledger.Undone {
	return ledger.Undone{
		By: p.Session().Maker(), Network: r.desired.Network(), Generation: r.desired.Snapshot.Generation,
		Digest: r.desired.Snapshot.Digest, Tasks: len(r.ownership.Set.Order),
	}
}

func waiting(p Pass) starts.Waiting { return starts.Waiting{Daemon: p.OfDaemon, Ready: p.Ready} }

// raise raises a plan's class if the node leaves its pod CIDR, which no single step shows.
// Kubernetes gives a Node its pod CIDR once, and pods keep their addresses.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#NodeSpec
// (podCIDRs)
func (r *plan) raise(p *report.Plan) {
	had := r.led.Head().Network
	if p.Class == "" || r.desired.Pinned != nil || had.Name != r.desired.Network() {
		return
	}
	for text := range strings.SplitSeq(had.PodCIDRs, ",") {
		old, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || rtnl.Within(r.desired.Node.PodCIDR, old) {
			continue
		}
		p.Raise(tasks.ClassReplace.String(),
			fmt.Sprintf("spec.podCIDR was %s, and the new range does not contain it: a Node keeps its pod "+
				"CIDR, and pods keep their addresses", old))
	}
}

// linksOnTheWay returns one warning for each symbolic link that the agent does not follow and that
// lies on a path which the documents want.
func linksOnTheWay(v host.View, g *tasks.Graph) (notes []model.Note) {
	for _, dir := range directories(g) {
		if err := v.Files.Way(dir); err != nil &&
			!slices.ContainsFunc(notes, func(n model.Note) bool { return n.Text == err.Error() }) {
			notes = append(notes, model.Note{Level: network.Warning, Text: err.Error()})
		}
	}
	return notes
}

// directories returns the directories of the graphs' files and of the ledger.
func directories(graphs ...*tasks.Graph) []string {
	dirs := map[string]bool{}
	for _, dir := range ledger.Directories() {
		dirs[dir] = true
	}
	for _, g := range graphs {
		if g == nil {
			continue
		}
		for _, key := range g.Keys() {
			if file := tasks.FileOf(key); file != "" {
				dirs[path.Dir(file)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// unfinished returns the directories in which an earlier run was about to change something. If that
// run was killed it left staged files there, perhaps for keys that nobody wants any more. A clean
// ledger has no such directory, and is not decoded to look for one: for ten thousand files that
// takes longer than the whole pass.
func unfinished(led *ledger.Ledger) []string {
	if led.Head().Clean {
		return nil
	}
	dirs := map[string]bool{}
	for key, e := range led.Entries() {
		if file := tasks.FileOf(key); file != "" && e.Pending {
			dirs[path.Dir(file)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}
