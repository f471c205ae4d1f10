package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/agent"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

func explainCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY",
		Short: "Say who wants a key, why, what comes before it and after it",
		Example: `  agent explain sysctl:net.ipv4.ip_forward
  agent explain file:/etc/cni/net.d/10-netwright.conflist`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			w, err := f.wire(zap.NewNop())
			if err != nil {
				return err
			}
			d, err := agent.Load(cmd.Context(), w.store, w.sel, statestore.Revision{})
			if err != nil {
				return err
			}
			view, err := host.OpenView(cmd.Context(), w.pass.Host)
			if err != nil {
				return fmt.Errorf("look at the host: %w", err)
			}
			defer func() { err = errors.Join(err, view.Close()) }()
			g, _, err := d.Graph(view.Facts(), model.Discovered{}, w.pass.Assets)
			if err != nil {
				return err
			}
			return explain(s, g, graph.Key(args[0]))
		},
	}
}

func explain(s streams, g *graph.Graph[tasks.Task], key graph.Key) error {
	t, ok := g.Find(key)
	if !ok {
		return fmt.Errorf("nothing owns %q on this node; %s", key, similar(g, key))
	}
	fmt.Fprintf(s.out, "%s\n", t.Owns()[0])
	fmt.Fprintf(s.out, "  asked for by  %s\n", t.Origin())
	if m, ok := t.(interface{ Base() tasks.Meta }); ok {
		if m.Base().Why != "" {
			fmt.Fprintf(s.out, "  because       %s\n", m.Base().Why)
		}
		if m.Base().Overrides != "" {
			fmt.Fprintf(s.out, "  overrides     %s\n", m.Base().Overrides)
		}
	}
	if t.Gate() == graph.BeforeKubelet {
		fmt.Fprintln(s.out, "  gate          before kubelet")
	} else {
		fmt.Fprintln(s.out, "  gate          after kubelet")
	}
	edges(s, "comes after", g.Before(t))
	edges(s, "comes before", g.After(t))
	return nil
}

func edges(s streams, title string, list []graph.Edge[tasks.Task]) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(s.out, "  %s\n", title)
	for _, e := range list {
		fmt.Fprintf(s.out, "    %-56s %s\n", e.Node.Owns()[0], e.Reason)
	}
}

// similar lists the keys of the same kind, or the kinds that there are.
func similar(g *graph.Graph[tasks.Task], key graph.Key) string {
	kinds, same := map[string]bool{}, []string{}
	for _, t := range g.Order() {
		for _, k := range t.Owns() {
			kinds[k.Kind()] = true
			if k.Kind() == key.Kind() || strings.Contains(string(k), string(key)) {
				same = append(same, string(k))
			}
		}
	}
	if len(same) > 0 {
		sort.Strings(same)
		return "keys like it:\n  " + strings.Join(same, "\n  ")
	}
	names := make([]string, 0, len(kinds))
	for k := range kinds {
		names = append(names, k)
	}
	sort.Strings(names)
	return "a key is kind:name; the kinds here are " + strings.Join(names, ", ")
}
