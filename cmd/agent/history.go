package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/plural"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

func historyCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List what was applied to this node, newest last",
		Example: `  agent history
  agent history -o json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := history.Read(f.Host)
			if err != nil {
				return err
			}
			if !f.Text() {
				return f.Data(list(h))
			}
			for _, d := range h.Damage {
				fmt.Fprintln(f.Err, "warning:", d)
			}
			historyText(f.Out, h)
			if h.Awaits != nil {
				fmt.Fprintf(f.Out, "? %s: `agent confirm` in a new login keeps it\n", h.Awaits)
			}
			if !h.WatchedUntil.IsZero() {
				fmt.Fprintf(f.Out, "%s is watched until %s: it started or stopped a hook, and is undone if "+
					"that costs the node its gateway and its store\n",
					generation.Name(h.Watched, h.WatchedDigest), report.Stamp(h.WatchedUntil))
			}
			if h.Applied != nil && h.Applied.Number > 0 { // otherwise the last revision shows it
				fmt.Fprintf(f.Out, "generation %d is applied, since %s\n", h.Applied.Number, report.Stamp(h.Applied.At))
			}
			if h.Pin != nil {
				fmt.Fprintf(f.Out, "held at revision %d by %s since %s: the store is not followed before `agent "+
					"resume`\n", h.Pin.Revision, h.Pin.By, report.Stamp(h.Pin.Since))
			}
			return nil
		},
	}
}

// historyText prints the history as a table, in order of time. A change that was undone has no
// revision number: a rollback cannot go to it.
func historyText(w io.Writer, h *history.History) {
	if h.WithoutRevision > 0 {
		fmt.Fprintf(w, "no pass ended well yet; %s: `agent --dry-run` says what the others lack\n",
			plural.Of(h.WithoutRevision, "key is as wanted", "keys are as wanted"))
	}
	if len(h.Revisions)+len(h.Undone) == 0 {
		if h.WithoutRevision == 0 {
			fmt.Fprintln(w, "nothing was applied yet")
		}
		operatorActionsText(w, h.Actions)
		return
	}
	row := func(mark, number string, at time.Time, generation int64, digest, network string, tasks int, by string) {
		fmt.Fprintf(w, "%s %-9s%-22s%-14s%-12s%-8d%s\n", mark, number, report.Stamp(at),
			fmt.Sprintf("%d %.8s", generation, digest), network, tasks, by)
	}
	fmt.Fprintf(w, "  %-9s%-22s%-14s%-12s%-8s%s\n", "REVISION", "TIME", "GENERATION", "NETWORK", "TASKS", "BY")
	left := h.Undone
	undone := func(before time.Time) {
		for ; len(left) > 0 && left[0].Time.Before(before); left = left[1:] {
			u := left[0]
			verdict := fmt.Sprintf("undone: it is not known whether the change was the cause, tried %s: %s",
				plural.Of(u.Tries, "time"), u.Why)
			switch {
			case u.Unconfirmed:
				verdict = "undone: " + u.Why
			case u.Bad:
				verdict = "undone: bad: " + u.Why
			}
			row(" ", "-", u.Time, u.Generation, u.Digest, u.Network, u.Tasks, u.By+"; "+verdict)
		}
	}
	for _, r := range h.Revisions {
		undone(r.Time)
		mark := " "
		switch {
		case r.Number == h.Current:
			mark = "*"
		case h.Awaits != nil && r.Number == h.Awaits.Revision:
			mark = "?"
		}
		row(mark, strconv.Itoa(r.Number), r.Time, r.Generation, r.Digest, r.Network, len(r.Tasks), r.By)
	}
	undone(time.Unix(1<<40, 0))
	changesText(w, h)
	proofsText(w, h.Revisions)
	operatorActionsText(w, h.Actions)
	repairedText(w, h.Repaired)
	bootsText(w, h)
}

// changesText prints what each revision changed.
func changesText(w io.Writer, h *history.History) {
	if len(h.Changes) > 0 {
		fmt.Fprintf(w, "\n  %-11s%s\n", "REVISION", "CHANGED")
	}
	for _, r := range h.Revisions {
		if c, ok := h.Changes[r.Number]; ok {
			fmt.Fprintf(w, "  %-11d%s\n", r.Number, c)
		}
	}
}

// proofsText prints, for each revision, which probes proved its first change, where that change was
// not harmless.
func proofsText(w io.Writer, list []ledger.Revision) {
	head := fmt.Sprintf("\n  %-11s%s\n", "REVISION", "PROVED BY")
	for _, r := range list {
		if len(r.Proofs)+len(r.MissingProofs) > 0 {
			fmt.Fprintf(w, "%s  %-11d%s\n", head, r.Number,
				&report.Proof{At: r.Time, By: probe.ProofKinds(r.Proofs), Missing: r.MissingProofs})
			head = ""
		}
	}
}

// operatorActionsText prints what people did that made no new revision.
func operatorActionsText(w io.Writer, list []ledger.OperatorAction) {
	if len(list) > 0 {
		fmt.Fprintf(w, "\n  %-14s%-22s%-10s%-12s%s\n", "DONE", "TIME", "REVISION", "GENERATION", "BY")
	}
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	for _, d := range list {
		by := d.By
		if d.Text != "" {
			by += "; " + d.Text
		}
		fmt.Fprintf(w, "  %-14s%-22s%-10s%-12s%s\n", d.Act, report.Stamp(d.Time),
			number(int64(d.Revision)), number(d.Generation), by)
	}
}

// bootsText prints the results of first boots with changed files, and which changes await a boot.
func bootsText(w io.Writer, h *history.History) {
	if len(h.Boots) > 0 {
		fmt.Fprintf(w, "\n  %-11s%-22s%s\n", "BOOT", "TIME", "WITH")
	}
	for _, b := range h.Boots {
		with := report.Listed(b.Names)
		if len(b.Names) == 0 {
			with = "what was baked into the image"
		}
		if b.Why != "" {
			with += ": " + b.Why
		}
		fmt.Fprintf(w, "  %-11s%-22s%s\n", b.Outcome, report.Stamp(b.Time), with)
	}
	if len(h.AwaitingBoot) > 0 {
		fmt.Fprintf(w, "\nawaiting boot: %s\n", report.Listed(h.AwaitingBoot))
	}
}

// repairedText prints what the agent repaired after other programs changed it. Repairs make no
// revision.
func repairedText(w io.Writer, list []history.Repaired) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  %-9s%-22s%-22s%s\n", "REPAIRED", "FIRST", "LAST", "KEY")
	for _, r := range list {
		last := "-"
		if at := r.Last(); !at.IsZero() {
			last = report.Stamp(at)
		}
		who := ""
		if r.Writer != "" {
			who = " (the other writer is " + r.Writer + ")"
		}
		fmt.Fprintf(w, "  %-9d%-22s%-22s%s%s\n", r.Repairs, report.Stamp(r.First), last, r.Key, who)
	}
}

// listed is the JSON form of the history. It has the number of a revision's tasks instead of the
// tasks, which name contents and are long; the entries that were undone have only the number, too.
type listed struct {
	*history.History
	Revisions []listedRevision `json:"revisions"`
}

type listedRevision struct {
	ledger.Revision
	Tasks   int              `json:"tasks"`
	Changes *history.Changes `json:"changes,omitempty"`
}

func list(h *history.History) listed {
	out := listed{h, []listedRevision{}}
	for _, r := range h.Revisions {
		row := listedRevision{Revision: r, Tasks: len(r.Tasks)}
		if c, ok := h.Changes[r.Number]; ok {
			row.Changes = &c
		}
		out.Revisions = append(out.Revisions, row)
	}
	return out
}
