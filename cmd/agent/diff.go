package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/takeover"
)

func diffCommand(f *cli.Flags) *cobra.Command {
	var nodeup bool
	cmd := &cobra.Command{
		Use:   "diff --nodeup",
		Short: "Compare what kOps' nodeup made on this node with what the documents want",
		Long: `diff --nodeup runs on a node of kOps. It lists what nodeup made and keeps, what the
agent takes over unchanged, what the agent would change, and what is new. It changes
nothing.

agent plan shows what a pass would change. agent store diff compares two generations
of a store.`,
		Example: `  agent diff --nodeup --store ./state --cluster minimal.example.com --node-group nodes`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !nodeup {
				return problem.Usage.Errorf("diff compares with nodeup: agent diff --nodeup. What a pass would change: " +
					"agent plan; two generations of a store: agent store diff")
			}
			w, d, g, err := wantedGraph(cmd.Context(), f)
			if err != nil {
				return err
			}
			plan, err := w.Pass.DryRun(cmd.Context(), d)
			if plan == nil {
				return err
			}
			files, err := host.OpenFiles(w.Pass.Host)
			if err != nil {
				return fmt.Errorf("look at the host: %w", err)
			}
			defer files.Close() // it is only read
			c, err := takeover.Nodeup(files, g, plan)
			if err != nil {
				return err
			}
			if !f.Text() {
				return f.Data(c)
			}
			printTakeover(f.Out, plan, c)
			return nil
		},
	}
	cmd.Flags().BoolVar(&nodeup, "nodeup", false, "compare with what nodeup made")
	return cmd
}

func printTakeover(out io.Writer, plan *report.Plan, c *takeover.Takeover) {
	fmt.Fprintf(out, "%s (%s) of %s, network %s, made by %s\n", plan.Node, plan.NodeGroup, plan.Cluster, plan.Network, c.Peer)
	printResources(out, "stays "+c.Peer+"'s", c.Stays)
	printResources(out, "changes hands, as it is", c.ChangesHands)
	printResources(out, "would be another", c.Differs)
	printResources(out, "is new", c.New)
	fmt.Fprintf(out, "\nto take the node over: agent install; and back: agent reset\n")
}

func printResources(out io.Writer, title string, list []takeover.Resource) {
	fmt.Fprintf(out, "\n%s: %d\n", title, len(list))
	width := 0
	for _, t := range list {
		width = min(max(width, len(t.Key)), 60)
	}
	for _, t := range list {
		what := t.Purpose
		var fields []string
		for _, f := range t.Fields {
			text := orNone(f.Before) + " → " + f.After
			if f.Name != "" && f.Name != "value" {
				text = f.Name + " " + text
			}
			fields = append(fields, text)
		}
		if len(fields) > 0 {
			what = strings.Join(fields, ", ")
		}
		fmt.Fprintf(out, "  %-*s  %s\n", width, t.Key, what)
	}
}
