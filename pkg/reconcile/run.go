package reconcile

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// ProbationPoll is when to look again, at most, while a unit is not known to run from its new
// settings, or kubelet makes its Node.
const ProbationPoll = 5 * time.Second

// run is one pass under way: what is wanted, then what nobody wants any more.
type run struct {
	desired   *desired.State
	sw        *migrate.Switch
	led       *ledger.Ledger
	ownership *ownership.Transaction
	pruning   *ownership.Removals
	notes     []model.Note
	expiries  []report.Note // of certificates that end
	amiss     []report.Note // with the change, which stayed
	graph     *graph.Graph[tasks.Task]
	changes   *changes.Set
	rep       graph.Report[tasks.Task]

	trials    *probation.Trials
	refused   map[graph.Key]error // by a task's first key: its unit did not come up with it
	lookAgain bool                // a unit is coming up
	awaits    bool                // the change is kept only if somebody confirms it
	halfway   bool                // a switch of networks was begun and is not made
	unbuilt   error               // why the set is the last revision's, and not that of the documents
	unwritten error               // why the pass only brings back what was right

	prefetches execute.Prefetches
	guard      *guard.Guard // of what cuts the node off; nil: nothing does
	removals   *changes.Set
	pruneRep   graph.Report[tasks.Task]
	apiCache   ledger.APICache     // of the Kubernetes API
	late       map[string][]string // effects owed that only the removals' graph has
}

// report says what the run has planned or done.
func (r *run) report(changed report.State) *report.Plan {
	waits := r.sw.Step()
	list := slices.Concat(changes.Steps(r.rep, r.changes, changed, r.ownership.Judge.NotePods),
		changes.Steps(r.pruneRep, r.removals, changed, nil), waits)
	p := r.desired.Report(r.notes, r.led, list, len(r.rep.Results)+len(r.pruneRep.Results)+len(waits))
	p.Switch, p.Kinds, p.PendingEffects = r.sw.Report(), kindsOf(r.rep, r.pruneRep),
		slices.Sorted(maps.Keys(r.led.Effects.List()))
	if p.Again = r.ownership.Judge.Repairs().LookAgain(); r.lookAgain &&
		(p.Again.IsZero() || time.Until(p.Again) > ProbationPoll) {
		p.Again = time.Now().Add(ProbationPoll)
	}
	p.Again = changes.Soonest(p.Again, r.rep)
	r.raise(p)
	p.Notes = slices.Concat(p.Notes, r.amiss, r.expiries, r.pruning.Notes)
	for _, n := range r.trials.Notes {
		p.Notes = append(p.Notes, report.Note{Level: string(n.Level), Origin: n.Origin, Text: n.Text})
	}
	if r.pruning.Graph != nil && len(r.pruneRep.Results) == 0 {
		p.Notes = append(p.Notes, report.Note{Level: "info",
			Text: fmt.Sprintf("%d keys are no longer wanted; they are removed when all that is wanted is right",
				r.pruning.Graph.Len())})
	}
	return p
}

// kindsOf counts tasks by the kind of their first key.
func kindsOf(reps ...graph.Report[tasks.Task]) map[string]int {
	out := map[string]int{}
	for _, rep := range reps {
		for i := range rep.Results {
			out[rep.Results[i].Node.Owns()[0].Kind()]++
		}
	}
	return out
}

// made is the change that the pass makes, for the history, should it be taken back.
func (r *run) made(p Pass) ledger.Undone {
	return ledger.Undone{
		By: p.Session().Maker(), Network: r.desired.Network(), Generation: r.desired.Snapshot.Generation,
		Digest: r.desired.Snapshot.Digest, Tasks: len(r.ownership.Set.List),
	}
}

func (p Pass) waiting() starts.Waiting { return starts.Waiting{Daemon: p.OfDaemon, Ready: p.Ready} }

// raise lifts a plan's class for what no single step shows: a pods' range that the node leaves.
// Kubernetes gives a Node its range once, and pods keep the addresses that they have.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#NodeSpec
// (podCIDRs)
func (r *run) raise(p *report.Plan) {
	had := r.led.Head().Network
	if p.Class == "" || r.desired.Pinned != nil || had.Name != r.desired.Network() {
		return
	}
	for _, text := range strings.Split(had.PodCIDRs, ",") {
		old, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || slices.ContainsFunc(r.desired.Node.PodCIDR,
			func(now netip.Prefix) bool { return now.Bits() <= old.Bits() && now.Contains(old.Addr()) }) {
			continue
		}
		p.Raise(tasks.ClassReplace.String(),
			fmt.Sprintf("spec.podCIDR was %s and leaves it: a Node keeps the range that it was given, and pods their "+
				"addresses", old))
	}
}

// linksOnTheWay says once of each link that is not followed that it lies on the way to what the
// documents want.
func linksOnTheWay(v host.View, g *graph.Graph[tasks.Task]) (notes []model.Note) {
	for _, dir := range directories(g) {
		if err := v.Files.Way(dir); err != nil &&
			!slices.ContainsFunc(notes, func(n model.Note) bool { return n.Text == err.Error() }) {
			notes = append(notes, model.Note{Level: network.Warning, Text: err.Error()})
		}
	}
	return notes
}

// directories are those that the tasks of graphs have files in, and the ledger's own.
func directories(graphs ...*graph.Graph[tasks.Task]) []string {
	dirs := map[string]bool{}
	for _, dir := range ledger.Directories() {
		dirs[dir] = true
	}
	for _, g := range graphs {
		if g == nil {
			continue
		}
		for _, t := range g.Order() {
			for _, key := range t.Owns() {
				if file := tasks.FileOf(key); file != "" {
					dirs[path.Dir(file)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// unfinished are the directories in which an earlier run was about to change something: killed
// there, it left what it had staged, maybe for what nobody wants any more. A ledger that is clean
// has none, and is not decoded to look for them: of ten thousand files that takes longer than the
// whole pass.
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
