package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

// former is the network that a node has before a switch.
type former struct {
	ledger.Network
	evidence  string // what shows that the node has it
	unmanaged bool   // the ledger has none
	arrived   bool   // the ledger has the wanted one
}

// formerNetwork finds the network that a node has, if it is not the wanted one. It returns nil if
// there is nothing to leave.
func formerNetwork(ctx context.Context, d *desired.State, v host.View, led *ledger.Ledger) (*former, error) {
	had, evidence, err := hadNetwork(led, v.Files)
	if err != nil {
		return nil, err
	}
	is := func(n ledger.Network) bool { return desired.SameNetwork(n, d.NetworkAfter(n)) }
	was := &former{had, evidence, had.Name == "", is(had)}
	switch from := d.SwitchSpec().From; {
	case from != "" && (was.unmanaged || had.Name == "cni") && from != d.Network():
		was.Name, was.evidence = from, d.Node.Origin("spec.networking.switch.from").String()
	case was.unmanaged:
		if was.Name, was.evidence, err = unmanagedNetwork(ctx, v, d.Network()); err != nil {
			return nil, err
		}
	}
	if was.Name == "" || is(was.Network) {
		return nil, nil
	}
	return was, nil
}

// hadNetwork returns the network that the ledger records for the node, and the part of the ledger
// that names it. Old ledgers name it only in the revision.
func hadNetwork(led *ledger.Ledger, r ledger.Reader) (ledger.Network, string, error) {
	had, number := led.Head().Network, led.Head().Current
	if had.Name != "" || number == 0 {
		return had, "the ledger", nil
	}
	rev, err := ledger.ReadRevision(r, number)
	if err != nil {
		return had, "", fmt.Errorf("find out which network the node has: %w", err)
	}
	return ledger.Network{Name: rev.Network, Declared: rev.Declared}, fmt.Sprintf("revision %d", number), nil
}

// unmanagedNetwork finds the network of a node about which the ledger knows nothing: the network
// whose conf is in force and whose pods run. A network that nothing uses any more does not matter
// here; `agent networks --found` lists it.
func unmanagedNetwork(ctx context.Context, v host.View, wanted string) (name, known string, err error) {
	dir := confsOf(v)
	files, err := v.Files.ReadDir(dir)
	if errors.Is(err, host.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("find out which network the node has: %w", err)
	}
	for _, file := range files { // in the order in which the runtime reads them
		name := network.WithConf(file)
		if name == "" {
			continue
		}
		if name == wanted {
			return "", "", nil
		}
		pods, err := tasks.PodsWithAddress(ctx, v)
		if err != nil || !slices.ContainsFunc(pods, func(p cri.Pod) bool { return p.Ready }) {
			return "", "", err
		}
		return name, "its conf " + path.Join(dir, file), nil
	}
	return "", "", nil
}

// confsOf returns the directory in which the runtime looks for CNI confs.
func confsOf(v host.View) string { return cmp.Or(v.Facts.Runtime.ConfDir, "/etc/cni/net.d") }

// confless reports whether there is no CNI conf, so that no pod can have a network.
func confless(v host.View) bool {
	files, err := v.Files.ReadDir(confsOf(v))
	return (err == nil || errors.Is(err, host.ErrNotExist)) && !slices.ContainsFunc(files, func(f string) bool {
		return ownership.IsConf(v, tasks.FileKey(path.Join(confsOf(v), f)))
	})
}
