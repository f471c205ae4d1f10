package rollout

import (
	"cmp"
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/report"
)

// RenamedError reports a machine whose name differs from the name under which its network was
// made.
type RenamedError struct {
	Kind    string // "node" or "node group"
	Was, Is string
	From    string // what gave the name that the machine has now
}

func (e *RenamedError) Error() string {
	return fmt.Sprintf("this machine was %s %s, and is called %q now by %s, so it keeps the configuration of %[2]s: "+
		"correct the name there; if the new name is right, allow the change with spec.networking.switch: {allow: true}, "+
		"or once with --allow-disruptive", e.Kind, e.Was, e.Is, e.From)
}

// renamed returns an error if the machine has another name than the ledger records. It returns nil
// if a person allows the new name, which it notes in d, or if another machine made the ledger, as
// in an image. Everything on a node is made for its name, so another name would remove it, also if
// the name is only a typing error.
func (r Rollout) renamed(d *desired.State, files hostfs.Files, led *ledger.Ledger) *RenamedError {
	head := led.Head()
	if d == nil || d.Pinned != nil || head.Pin != nil || head.Current == 0 || led.Baked() ||
		!r.Host.Running() && !r.Anywhere {
		return nil
	}
	if host.IsOtherMachine(files, head.Machine) {
		return nil
	}
	rev, err := ledger.ReadRevisionHead(files, head.Current)
	var why *RenamedError
	switch {
	case err != nil: // the pass itself reports a damaged revision
	case rev.Node != "" && rev.Node != d.Node.Name:
		why = &RenamedError{"node", rev.Node, d.Node.Name, d.Sel.NodeFrom}
	case rev.NodeGroup != "" && rev.NodeGroup != d.Node.NodeGroup:
		why = &RenamedError{"node group", rev.NodeGroup, d.Node.NodeGroup, cmp.Or(d.Sel.GroupFrom, "the documents")}
	}
	if d.Renamed = why != nil && migrate.AllowedBy(d, led, r.AllowDisruptive) != ""; d.Renamed {
		return nil
	}
	return why
}

// underFormerName returns the configuration that the machine has under its former name.
func (r Rollout) underFormerName(
	ctx context.Context, d *desired.State, why *RenamedError, h *host.Host, led *ledger.Ledger,
) (*desired.State, error) {
	w := &report.Waiting{Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest, Reason: why.Error()}
	rev, err := ledger.ReadRevision(h.Live.Files, led.Head().Current)
	if err != nil {
		return nil, err
	}
	good, err := ledger.ReadLastGood(h.Live.Files)
	if err != nil {
		return nil, err
	}
	former := *d
	former.Sel = config.Select{Node: rev.Node, Group: rev.NodeGroup}
	out, err := r.Effective(ctx, &former, good, w, h, led)
	if err == nil {
		out.Undone = why
	}
	return out, err
}
