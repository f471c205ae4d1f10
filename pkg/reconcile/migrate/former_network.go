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
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

// hadNetwork is the network that the ledger knows the node by, and which part of it says so.
// Ledgers of before that was noted have it in the revision.
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

// unmanagedNetwork finds, on a node that the ledger knows nothing of, the network whose conf is in
// force and whose pods live. One that nobody uses any more is in nobody's way: `agent networks
// --found` tells of it.
func unmanagedNetwork(ctx context.Context, v host.View, wanted string) (name, known string, err error) {
	dir := confsOf(v)
	files, err := v.Files.ReadDir(dir)
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
		if err != nil || !slices.ContainsFunc(pods, func(p cri.Pod) bool { return p.Ready }) {
			return "", "", err
		}
		return name, "its conf " + path.Join(dir, file), nil
	}
	return "", "", nil
}

// confsOf is where the runtime has its confs.
func confsOf(v host.View) string { return cmp.Or(v.Facts.Runtime.ConfDir, "/etc/cni/net.d") }

// confless says that no conf is there, so that no pod can have got a network.
func confless(v host.View) bool {
	files, err := v.Files.ReadDir(confsOf(v))
	return (err == nil || errors.Is(err, host.ErrNotExist)) && !slices.ContainsFunc(files, func(f string) bool {
		return ownership.IsConf(v, tasks.FileKey(path.Join(confsOf(v), f)))
	})
}
