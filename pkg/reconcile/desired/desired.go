// Package desired has the wanted state of one node: from a snapshot of the store, or from the
// revision at which the node is held. It loads that state and answers questions about it. It does
// not know passes or the daemon.
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

// ManyFiles is from how many files on a pass saves memory at the expense of time. A plan of so many
// needs more memory than the pages of the program that only the start uses.
const ManyFiles = 4000

// State is what one snapshot of the store wants of one node.
type State struct {
	Snapshot *statestore.Snapshot
	Node     *config.Node
	Warnings document.Diagnostics
	Keypairs map[string]model.Keypair
	Damage   []string  // what the store has and the agent could not use
	Refused  []string  // what must not be on this node and is therefore not used
	Taken    time.Time // when the last good configuration was taken from the store; zero: this one is from the store
	Instead  string    // why the last good configuration is used, as in Damage; "": it is not used
	EC2      tasks.EC2 // the client, if the documents want EC2 asked and that is possible
	Pinned   *Pinned   // set if this state comes from a revision
	Renamed  bool      // the machine had another name, and a person allows the new one
	Sel      config.Select
	Had      ledger.Network  // the network that the node has, as far as the ledger knows
	prepares string          // see [ledger.Network]; set by the last Graph
	modes    string          // the modes that the documents choose; set by the last Graph
	Waiting  *report.Waiting // a newer configuration that waits while this one is in force
	// Undone is why the newer configuration is held back, if it was undone or is for another name.
	// It is the error of each pass that keeps this configuration in force.
	Undone error

	Issued    map[string]model.Issued // the status of the certificates that this node requests for itself
	LookAgain time.Time               // when one of these certificates needs another pass; zero: none does
}

// HasManyFiles reports whether the documents name at least [ManyFiles] files.
func (d *State) HasManyFiles() bool {
	return d != nil && d.Node != nil && len(d.Node.FileAssets) >= ManyFiles
}

// FromTasks returns a state with only these tasks, without documents and model. Test harnesses use
// it to hold single kinds against a host by the same code as every pass. name stands for the
// node's name in reports.
func FromTasks(name string, list []tasks.Task) *State {
	return &State{
		Snapshot: &statestore.Snapshot{Origin: "given"}, Node: &config.Node{Name: name},
		Pinned: &Pinned{Network: "given", Recorded: list},
	}
}

// LoadLimit is how long [Load] may take. The daemon and the commands set it as the deadline.
const LoadLimit = statestore.FetchLimit

// Load fetches a snapshot that is newer than last and decodes the node's part of it. It returns
// [statestore.ErrNotModified] if there is none. An error in the documents is permanent until the
// store changes, and contains all diagnostics.
func Load(ctx context.Context, store statestore.Store, sel config.Select, last statestore.Revision) (*State, error) {
	snap, err := store.Fetch(ctx, last)
	if err != nil {
		return nil, problem.Store.Errorf("fetch the configuration: %w", err)
	}
	node, diags := config.Load(tasks.DriftKinds(), Sources(snap), sel, snap.Files...)
	snap.Files = nil // the node has those that are for it
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
		d.Damage = append(d.Damage, fmt.Sprintf("%s has no document nodes/%s.yaml%s, and no node group is "+
			"named: only the cluster's document is used; name the node with --node, or its group with "+
			"--node-group",
			snap.Cluster, sel.Node, someNodes(snap)))
	}
	return d, nil
}

// someNodes names the nodes that have a document, if there are few.
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

// Sources returns the documents of a snapshot, without its certificates.
func Sources(snap *statestore.Snapshot) []document.Source {
	sources := make([]document.Source, 0, len(snap.Objects))
	for _, path := range slices.Sorted(maps.Keys(snap.Objects)) {
		if !strings.HasPrefix(path, "pki/") {
			sources = append(sources, document.Source{Path: path, Data: snap.Objects[path]})
		}
	}
	return sources
}

// Graph builds the tasks of d for a host and orders them. It reports duplicate owners and cycles
// before anything runs.
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

// Planned sets the status of the certificates for a plan that is only shown.
func (d *State) Planned(r ledger.Reader, mayIssue bool) {
	d.Issued = issue.Planned(d.Node, d.Keypairs, r, mayIssue)
}

// PodsDependOn reports whether pods lose all or part of their connectivity while a task is not
// right.
func (d *State) PodsDependOn(t tasks.Task) bool {
	net, _ := network.Of(d.Node)
	if d.Pinned != nil {
		net = network.Named(d.Pinned.Network)
	}
	return model.PodsDependOn(net, t)
}
