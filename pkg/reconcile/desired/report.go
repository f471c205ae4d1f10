package desired

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/report"
)

// Report puts a plan's head on its steps.
func (d *State) Report(notes []model.Note, led *ledger.Ledger, steps []report.Step, total int) *report.Plan {
	p := &report.Plan{
		Pinned: d.pinnedBy(), Cluster: d.Node.Cluster, Node: d.Node.Name, NodeGroup: d.Node.NodeGroup,
		Network: d.Network(),
		Store:   d.Snapshot.Origin, Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest, Steps: steps,
	}
	for _, w := range d.Warnings {
		p.Notes = append(p.Notes, report.Note{Level: "warning", Origin: w.Origin.String(), Text: w.Summary})
	}
	if !d.Taken.IsZero() {
		p.LastGood = &d.Taken
	}
	if w := d.Waiting; w != nil {
		p.Waiting = w
		text := fmt.Sprintf("%s waits, and this one stays in force: %s", generation.Full(w.Generation, w.Digest),
			w.Reason)
		if d.Undone != nil { // the pass's error: who logs both says it once
			text = d.Undone.Error()
		}
		p.Warn(text)
	}
	if end := d.Snapshot.Expires; !end.IsZero() && time.Now().After(end) {
		p.Warn("the configuration has expired at " + report.Stamp(end) +
			", and there is no newer one: it stays in force; publish again")
	}
	for _, text := range append(led.Damage(), d.Damage...) {
		p.Warn(text)
	}
	for _, text := range d.Refused {
		p.Notes = append(p.Notes, report.Note{Level: string(network.Error), Text: text})
	}
	for _, n := range notes {
		p.Notes = append(p.Notes, report.Note{Level: string(n.Level), Origin: n.Origin, Text: n.Text})
	}
	p.Finish(total)
	return p
}
