package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/agent"
)

func historyCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List what was applied to this node, newest last",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			pass, err := f.local()
			if err != nil {
				return err
			}
			h, err := pass.History()
			if err != nil {
				return err
			}
			if f.output == "json" {
				return historyJSON(s, h)
			}
			for _, d := range h.Damage {
				fmt.Fprintln(s.err, "warning:", d)
			}
			if len(h.Revisions) == 0 {
				fmt.Fprintln(s.out, "nothing was applied yet")
				return nil
			}
			fmt.Fprintf(s.out, "  %-9s%-22s%-14s%-12s%-8s%s\n", "REVISION", "TIME", "GENERATION", "NETWORK", "TASKS", "BY")
			for _, r := range h.Revisions {
				mark := " "
				if r.Number == h.Current {
					mark = "*"
				}
				fmt.Fprintf(s.out, "%s %-9d%-22s%-14s%-12s%-8d%s\n", mark, r.Number, r.Time.Format(time.RFC3339),
					fmt.Sprintf("%d %.8s", r.Generation, r.Digest), r.Network, len(r.Tasks), r.By)
			}
			if h.Held != nil {
				fmt.Fprintf(s.out, "held at %d by %s since %s: the store is not followed before `agent resume`\n", h.Held.Revision, h.Held.By, h.Held.Since.Format(time.RFC3339))
			}
			return nil
		},
	}
}

// historyJSON writes the history for programs. Tasks are left out: they name contents, and are long.
func historyJSON(s streams, h *agent.History) error {
	out := *h
	for i := range out.Revisions {
		out.Revisions[i].Tasks = nil
	}
	enc := json.NewEncoder(s.out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}
