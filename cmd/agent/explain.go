package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/tasks"
)

func explainCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY",
		Short: "Say who wants a key, why, what comes before it and after it",
		Example: `  agent explain sysctl:net.ipv4.ip_forward
  agent explain file:/etc/cni/net.d/10-netwright.conflist`,
		Args: oneArg("a key", "agent explain sysctl:net.ipv4.ip_forward"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			w, d, err := f.load(cmd.Context())
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
			return explain(f, s, g, graph.Key(args[0]))
		},
	}
}

// explained is what explain says, in its JSON form.
type explained struct {
	Key       graph.Key   `json:"key"`
	Owns      []graph.Key `json:"owns"`
	Origin    string      `json:"origin"`
	Why       string      `json:"why,omitempty"`
	Overrides string      `json:"overrides,omitempty"`
	Gate      string      `json:"gate"`
	After     []neighbour `json:"after"`
	Before    []neighbour `json:"before"`
}

type neighbour struct {
	Key    graph.Key `json:"key"`
	Reason string    `json:"reason"`
}

func explain(f *flags, s streams, g *graph.Graph[tasks.Task], key graph.Key) error {
	t, ok := g.Find(key)
	if !ok {
		return fmt.Errorf("nothing owns %q on this node; %s", key, similar(g, key))
	}
	e := explained{
		Key: key, Owns: t.Owns(), Origin: t.Origin(), Gate: "before kubelet",
		After: neighbours(g.Before(t)), Before: neighbours(g.After(t)),
	}
	if t.Gate() == graph.AfterKubelet {
		e.Gate = "after kubelet"
	}
	if m, ok := t.(interface{ Base() tasks.Meta }); ok {
		e.Why, e.Overrides = m.Base().Why, m.Base().Overrides
	}
	if f.output == "json" {
		return writeJSON(s.out, e)
	}
	fmt.Fprintln(s.out, e.Key)
	for _, row := range [][2]string{{"asked for by", e.Origin}, {"because", e.Why}, {"overrides", e.Overrides}, {"gate", e.Gate}} {
		if row[1] != "" {
			fmt.Fprintf(s.out, "  %-13s %s\n", row[0], row[1])
		}
	}
	edges(s, "comes after", e.After)
	edges(s, "comes before", e.Before)
	return nil
}

func neighbours(list []graph.Edge[tasks.Task]) []neighbour {
	out := make([]neighbour, len(list))
	for i, e := range list {
		out[i] = neighbour{e.Node.Owns()[0], e.Reason.String()}
	}
	return out
}

func edges(s streams, title string, list []neighbour) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(s.out, "  %s\n", title)
	for _, e := range list {
		fmt.Fprintf(s.out, "    %-56s %s\n", e.Key, e.Reason)
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
