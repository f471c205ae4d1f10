package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// planVersion names the form of a plan file.
const planVersion = "netwright.dev/planfile/v1"

// planFile is a plan for `agent apply`, with the flags that it was made with.
type planFile struct {
	Version         string       `json:"version"` // planVersion
	Made            time.Time    `json:"made"`
	AllowDisruptive bool         `json:"allowDisruptive,omitempty"`
	AcceptOlder     bool         `json:"acceptOlderGeneration,omitempty"`
	Plan            *report.Plan `json:"plan"`
}

func planCommand(f *cli.Flags) *cobra.Command {
	o := runOptions{f: f, dryRun: true}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what would change on this node, and why; with --out for apply",
		Long: `plan shows what --once would change, and why, as --dry-run does. With --out it also
writes the plan to a file. ` + "`agent apply`" + ` makes the change of that file and no other.

The file has no secrets, and no other user can read it (mode 0600).

Exit code: 0 nothing would change, 2 something would, 1 error.`,
		Example: `  agent plan --out change.plan           look at it, or show it to somebody
  agent apply change.plan                make that change, if nothing else changed since`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.runDryRun(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.out, "out", "", "write the plan to this `FILE`, for agent apply")
	o.bindPlan(cmd)
	return cmd
}

// save writes a plan to the file of --out.
func (o *runOptions) save(ctx context.Context, plan *report.Plan) error {
	var text bytes.Buffer
	if err := report.JSON(&text, planFile{Version: planVersion, Made: time.Now().UTC().Truncate(time.Second),
		AllowDisruptive: o.disruptive, AcceptOlder: o.f.Trust.Older, Plan: plan}); err != nil {
		return err
	}
	w, path, err := cli.OpenWriter(o.out)
	if err != nil {
		return err
	}
	defer w.Close() // WriteFile has synced and checked the data
	if err := w.WriteFile(ctx, path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	fmt.Fprintf(o.f.Err, "the plan is in %s: `agent apply %s` makes this change and no other\n", o.out, o.out)
	return nil
}

// readPlan reads a plan file.
func readPlan(path string) (*planFile, error) {
	text, err := cli.ReadFile(path)
	if err != nil {
		return nil, problem.PlanStale.Errorf("read the plan: %w: `agent plan --out %s` writes one", err, path)
	}
	var file planFile
	if err := json.Unmarshal(text, &file); err != nil || file.Version != planVersion || file.Plan == nil {
		return nil, problem.PlanStale.Errorf("%s is no plan of this form, %s: `agent plan --out %s` writes one", path,
			planVersion, path)
	}
	return &file, nil
}
