package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// leftThing is one thing that bears a network's name or mark, in its JSON form.
type leftThing struct {
	Network string `json:"network"`
	Key     string `json:"key"`
	What    string `json:"what"`
}

// networksFound says what the networks of the list, or the one named, left on this host.
func networksFound(ctx context.Context, f *flags, s streams, args []string) (err error) {
	all := network.All()
	if len(args) == 1 {
		one, known := f.network(ctx, args[0])
		if !known {
			return unknownNetwork(args[0])
		}
		all = []network.Network{one}
	}
	view, err := host.OpenView(ctx, host.Options{Root: f.root})
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	// Links and routes that are everybody's by name are a network's when a pod's address says so.
	var scope tasks.Scope
	if _, d, err := f.load(ctx); err == nil {
		scope.PodCIDRs = d.Node.PodCIDR
		if declared, known := network.Of(d.Node); known && len(args) == 0 {
			i := slices.IndexFunc(all, func(n network.Network) bool { return n.Name == declared.Name })
			all[i] = declared
		}
	} else {
		fmt.Fprintf(s.err, "note: what only the pods' addresses tell (veth*, routes to other nodes) is not looked for, since the configuration cannot be read: %v\n", err)
	}
	things := []leftThing{}
	for _, n := range all {
		found, err := n.Leftovers.Find(ctx, view, scope)
		if err != nil {
			return fmt.Errorf("look for what %s left: %w", n.Name, err)
		}
		for _, one := range found {
			things = append(things, leftThing{n.Name, string(one.Key), one.What})
		}
	}
	if !f.text() {
		return f.data(s, things)
	}
	for _, t := range things {
		fmt.Fprintf(s.out, "%-10s %s  (%s)\n", t.Network, t.Key, t.What)
	}
	if len(things) == 0 {
		fmt.Fprintln(s.out, "nothing here bears the name or the mark of a network")
	}
	return nil
}
