package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

func explainCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY|FIELD",
		Short: "Say who wants a key, why, and whether it is so now; or what a field of the documents is",
		Long: `explain KEY says who wants the key, whose value it overrides, whether the host has it
now, and which keys come before and after it. A key is kind:name, as --dry-run prints it.

explain FIELD says what a field of the documents does, which values it takes, its
default, and in which documents it may be. The end of its path is enough. It needs
neither a store nor a node. agent config prints the value of the field on this node,
and its origin.`,
		Example: `  agent explain sysctl:net.ipv4.ip_forward
  agent explain file:/etc/cni/net.d/05-netwright-bridge.conflist
  agent explain spec.networking.calico.mtu
  agent explain probeWindow              of the agent's own file`,
		Args: oneArg("a key", "agent explain sysctl:net.ipv4.ip_forward"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !strings.Contains(args[0], ":") {
				if found := fieldNamed(args[0]); len(found) > 0 {
					return explainFields(f, found)
				} else if strings.HasPrefix(args[0], "spec.") {
					return noSuchField(args[0])
				}
			}
			w, d, g, err := wantedGraph(cmd.Context(), f)
			if err != nil {
				return err
			}
			plan, err := w.Pass.DryRun(cmd.Context(), d)
			if plan == nil { // otherwise the plan shows its errors
				return err
			}
			return explain(f, g, plan, graph.Key(args[0]))
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) (keys []string,
			_ cobra.ShellCompDirective) {
			if strings.HasPrefix(begun, "spec") {
				for _, f := range allFields() {
					keys = append(keys, f.Path)
				}
				return keys, cobra.ShellCompDirectiveNoFileComp
			}
			if _, _, g, err := wantedGraph(cmd.Context(), f); err == nil && len(args) == 0 {
				for _, t := range g.Order() {
					for _, key := range t.Owns() {
						keys = append(keys, string(key))
					}
				}
			}
			return keys, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// wantedGraph returns the tasks that this node's documents want on this host, in order.
func wantedGraph(ctx context.Context, f *cli.Flags) (*cli.Opened, *desired.State, *tasks.Graph, error) {
	w, d, err := f.Load(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	view, err := host.OpenView(ctx, w.Pass.Host)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // it is only read
	g, _, err := d.Graph(view.Facts, d.Cached(view.Files), w.Pass.Assets)
	return w, d, g, err
}

// explained is the JSON form of what explain prints.
type explained struct {
	Key       graph.Key   `json:"key"`
	Owns      []graph.Key `json:"owns"`
	Origin    string      `json:"origin"`
	Why       string      `json:"why,omitempty"`
	Overrides string      `json:"overrides,omitempty"`
	Gate      string      `json:"gate"`
	MadeFor   graph.Key   `json:"madeFor,omitempty"` // the key whose task makes this one, as a file its directories
	Now       string      `json:"now"`
	After     []neighbour `json:"after"`
	Before    []neighbour `json:"before"`
	obstacles
}

type neighbour struct {
	Key    graph.Key `json:"key"`
	Reason string    `json:"reason"`
}

func explain(f *cli.Flags, g *tasks.Graph, plan *report.Plan, key graph.Key) error {
	t, ok := g.Find(key)
	var madeFor graph.Key
	if !ok {
		madeFor = bringer(plan, key)
		if t, ok = g.Find(madeFor); !ok {
			return problem.KeyUnknown.Errorf("nothing owns %q on this node; %s", key, similar(g, key))
		}
	}
	m := t.Base()
	e := explained{
		Key: key, Owns: t.Owns(), Origin: m.From, Why: m.Why, Overrides: m.Overrides, Gate: "before kubelet",
		MadeFor: madeFor, Now: now(plan, t.Owns()[0], key),
		After: neighbours(g.Dependencies(t)), Before: neighbours(g.Dependents(t)), obstacles: obstacles{plan.Off,
			plan.Paused},
	}
	if m.At == graph.AfterKubelet {
		e.Gate = "after kubelet"
	}
	if !f.Text() {
		return f.Data(e)
	}
	fmt.Fprintln(f.Out, e.Key)
	for _, row := range [][2]string{{"asked for by", e.Origin}, {"because", e.Why}, {"overrides", e.Overrides},
		{"made for", string(e.MadeFor)}, {"gate", e.Gate}, {"now", e.Now}} {
		if row[1] != "" {
			fmt.Fprintf(f.Out, "  %-13s %s\n", row[0], row[1])
		}
	}
	edges(f.Out, "comes after", e.After)
	edges(f.Out, "comes before", e.Before)
	for _, line := range e.lines() {
		fmt.Fprintln(f.Out, "  ! "+line)
	}
	return nil
}

// bringer returns the key of the task that makes key as a part of its own change, such as a
// directory of a file.
func bringer(plan *report.Plan, key graph.Key) graph.Key {
	for _, step := range plan.Steps {
		for _, item := range step.Items {
			if item.Key == string(key) {
				return graph.Key(step.Key)
			}
		}
	}
	return ""
}

// now returns the state of a task's key by the plan. A key that is not in the plan is right.
func now(plan *report.Plan, task, key graph.Key) string {
	for _, step := range plan.Steps {
		if step.Key != string(task) {
			continue
		}
		if step.State != report.Planned {
			return strings.TrimSpace(string(step.State) + ": " + step.Message)
		}
		words := []string{"will change, " + step.Reason}
		for _, item := range step.Items {
			for _, field := range item.Fields {
				switch {
				case item.Key != string(key):
				case field.Before == "":
					words = append(words, strings.TrimSpace(field.Name+" "+field.After))
				default:
					words = append(words,
						strings.TrimSpace(fmt.Sprintf("%s %s → %s", field.Name, field.Before, field.After)))
				}
			}
		}
		return strings.Join(words, "; ")
	}
	return "right"
}

func neighbours(list []graph.Edge[tasks.Task]) []neighbour {
	out := make([]neighbour, len(list))
	for i, e := range list {
		out[i] = neighbour{e.Node.Owns()[0], e.Reason.String()}
	}
	return out
}

func edges(out io.Writer, title string, list []neighbour) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "  %s\n", title)
	for _, e := range list {
		fmt.Fprintf(out, "    %-56s %s\n", e.Key, e.Reason)
	}
}

// similar returns a text with the most similar keys of the same kind, or with the kinds of this
// node.
func similar(g *tasks.Graph, key graph.Key) string {
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
		slices.SortStableFunc(same, func(a, b string) int {
			return cmp.Or(cmp.Compare(document.Distance(a, string(key)), document.Distance(b, string(key))),
				strings.Compare(a, b))
		})
		more := ""
		if len(same) > mostLike {
			same, more = same[:mostLike],
				fmt.Sprintf("\n  and %d more: `agent --dry-run` and shell completion list keys", len(same)-mostLike)
		}
		return "keys like it, the nearest first:\n  " + strings.Join(same, "\n  ") + more
	}
	return "a key is kind:name; the kinds here are " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}

// mostLike is how many similar keys an error suggests.
const mostLike = 8
