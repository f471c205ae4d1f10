// Package desired is what is wanted of one node: what a snapshot of the store says, or a revision
// that the node is held at. It is loaded, and then read; it knows neither a pass nor a daemon.
package desired

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// State is what one snapshot of the store wants of one node.
type State struct {
	Snapshot *statestore.Snapshot
	Node     *config.Node
	Warnings document.Diagnostics
	Keypairs map[string]model.Keypair
	Damage   []string  // what of the store was found and could not be used
	Refused  []string  // what must not be on this node, and is not used
	Taken    time.Time // of the last good configuration, when it was taken from the store; zero: this is the store's
	Instead  string    // why it is the last good configuration, as Damage has it; "": it is not
	EC2      tasks.EC2 // where the documents want it asked, and it may be
	Pinned   *Pinned   // set when it comes from a revision
	Renamed  bool      // the machine was called otherwise, and somebody lets that go
	Sel      config.Select
	Had      ledger.Network  // that the node has, as far as the ledger knows
	prepares string          // see [ledger.Network]; as of the last graph
	modes    string          // likewise, those that the documents choose
	Waiting  *report.Waiting // a newer configuration that is not applied yet, while this one is in force
	// why the newer one is held back, if it was undone or is of another name: the error of each
	// pass that keeps this one right
	Undone error

	Issued    map[string]model.Issued // how the certificates stand that this node has issued to it
	LookAgain time.Time               // when one of them wants another pass; zero: none does
}

// FromTasks is these tasks and nothing that a document or the model says: for harnesses that hold
// single kinds against a host, by the way that every pass takes. name stands for the node's in what
// is reported.
func FromTasks(name string, list []tasks.Task) *State {
	return &State{
		Snapshot: &statestore.Snapshot{Origin: "given"}, Node: &config.Node{Name: name},
		Pinned: &Pinned{Network: "given", Recorded: list},
	}
}

// Load fetches a snapshot that is newer than last and decodes the node's part
// of it. [statestore.ErrNotModified] says that there is none. An error in the
// documents is permanent until the store changes, and carries all diagnostics.
func Load(ctx context.Context, store statestore.Store, sel config.Select, last statestore.Revision) (*State, error) {
	snap, err := store.Fetch(ctx, last)
	if err != nil {
		return nil, problem.Store.Errorf("fetch the configuration: %w", err)
	}
	node, diags := config.Load(tasks.DriftKinds(), Sources(snap), sel, snap.Files...)
	if err := diags.Err(); err != nil {
		return nil, graph.Permanent(&DocumentError{Store: snap.Origin, Revision: snap.Revision,
			Published: snap.Published, By: snap.Note.String(), Diagnostics: diags})
	}
	d := &State{Snapshot: snap, Node: node, Sel: sel, Warnings: diags, Keypairs: map[string]model.Keypair{}}
	if err := d.fetchKeys(); err != nil {
		return nil, err
	}
	d.Damage = append(d.Damage, snap.Notes...)
	if _, own := snap.Objects["nodes/"+sel.Node+".yaml"]; !own && node.NodeGroup == "" {
		d.Damage = append(d.Damage, fmt.Sprintf("%s has no document nodes/%s.yaml%s, and no node group is named: only "+
			"the cluster's document speaks; name the node with --node, or its group with --node-group",
			snap.Cluster, sel.Node, someNodes(snap)))
	}
	return d, nil
}

// someNodes names nodes that have a document, where there are few.
func someNodes(snap *statestore.Snapshot) string {
	var names []string
	for object := range snap.Objects {
		if name, ok := strings.CutPrefix(object, "nodes/"); ok {
			names = append(names, strings.TrimSuffix(name, ".yaml"))
		}
	}
	if len(names) == 0 || len(names) > 8 {
		return ""
	}
	slices.Sort(names)
	return " (there is " + strings.Join(names, ", ") + ")"
}

// Sources picks the documents out of a snapshot, leaving certificates.
func Sources(snap *statestore.Snapshot) []document.Source {
	sources := make([]document.Source, 0, len(snap.Objects))
	for _, path := range slices.Sorted(maps.Keys(snap.Objects)) {
		if !strings.HasPrefix(path, "pki/") {
			sources = append(sources, document.Source{Path: path, Data: snap.Objects[path]})
		}
	}
	return sources
}

// Graph builds the tasks of d for a host and orders them. Duplicate owners and
// cycles are reported here, before anything runs.
func (d *State) Graph(
	facts *host.Facts, found model.Discovered, assets tasks.Fetcher,
) (*tasks.Graph, []model.Note, error) {
	who := cmp.Or(d.Node.Name, "node group "+d.Node.NodeGroup)
	list, notes, err := d.tasks(facts, found, assets)
	if err != nil {
		return nil, notes, graph.Permanent(fmt.Errorf("build the tasks of %s: %w", who, err))
	}
	g, err := graph.New(list, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		return nil, notes, graph.Permanent(fmt.Errorf("order the tasks of %s: %w", who, err))
	}
	return g, notes, nil
}

func (d *State) tasks(
	facts *host.Facts, found model.Discovered, assets tasks.Fetcher,
) ([]tasks.Task, []model.Note, error) {
	if d.Pinned != nil {
		return d.Pinned.Recorded, nil, nil
	}
	found.Issued = d.Issued
	over, err := d.handedOver(d.Had)
	if err != nil {
		return nil, nil, err
	}
	in := model.Input{
		Node: d.Node, Facts: facts, Discovered: found, HandedOver: over, Assets: assets, EC2: d.EC2,
		Keypairs: d.Keypairs,
	}
	d.modes = model.Modes(in)
	if SameNetwork(d.Had, d.NetworkAfter(d.Had)) {
		in.Modes = d.Had.Modes
	}
	if d.prepares, err = prepares(model.Prepares(in)); err != nil {
		return nil, nil, err
	}
	return model.Build(in)
}

// Planned says how the certificates stand for a plan that is only shown.
func (d *State) Planned(r ledger.Reader, mayIssue bool) {
	d.Issued = issue.Planned(d.Node, d.Keypairs, r, mayIssue)
}

// PodsDependOn says that pods have no network, or not all of it, while a task is not right.
func (d *State) PodsDependOn(t tasks.Task) bool {
	net, _ := network.Of(d.Node)
	if d.Pinned != nil {
		net = network.Named(d.Pinned.Network)
	}
	return model.PodsDependOn(net, t)
}
