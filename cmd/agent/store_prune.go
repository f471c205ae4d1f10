package main

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/statestore/publisher"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

const (
	// pruneAge is how long a generation stays complete after the next one was published. Until then
	// a node that was off, that is rolled back, or that still reads keys and files of the
	// generation finds all of them.
	pruneAge = 30 * 24 * time.Hour
	// pruneLeast is far longer than the longest pass of a node that still reads the replaced
	// generation.
	pruneLeast = time.Hour
)

func pruneCommand(f *cli.Flags) *cobra.Command {
	var p publisher.Pruning
	cmd := &cobra.Command{
		Use:   "prune DEST",
		Short: "Remove published objects that no generation needs any more",
		Long: `prune removes the objects of former generations from a directory, an s3:// or a k8s://
URL. A generation stays complete for --older after the next one was published. The
published generation always stays. If the record of a generation that nodes may still
read is missing or damaged, prune removes nothing. A publisher that runs meanwhile
is told to wait.`,
		Example: `  agent store prune s3://bucket/prefix --cluster demo.example.com --dry-run`,
		Args:    oneArg("where it is published", "agent store prune s3://bucket/prefix --cluster demo.example.com"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.Older < pruneLeast {
				return problem.Usage.Errorf("--older %s: expected an hour or more, such as 720h: nodes read what was "+
					"just replaced", p.Older)
			}
			something := false
			err := eachPublished(f, args[0], func(at objectstore.Destination, cluster string) error {
				p.Cluster, p.By, p.Now = cluster, caller(), time.Now()
				done, err := publisher.Prune(cmd.Context(), at, p)
				if err != nil {
					return problem.StorePrune.Wrap(err)
				}
				something = something || len(done.Objects)+len(done.Generations) > 0
				return printPruned(f, done)
			})
			if err == nil && p.DryRun && something {
				return cli.ExitChanges
			}
			return err
		},
	}
	l := cmd.Flags()
	l.DurationVar(&p.Older, "older", pruneAge, "remove objects that were replaced at least this long ago")
	l.BoolVar(&p.DryRun, "dry-run", false, "list what would go and exit: 0 nothing, 2 something, 1 error")
	l.BoolVar(&p.TakeOver, "take-over", false, "take over from another prune, which was killed")
	return cmd
}

func printPruned(f *cli.Flags, p *publisher.Pruned) error {
	if !f.Text() {
		return f.Data(p)
	}
	verb := "removed"
	if p.DryRun {
		verb = "would remove"
		for _, name := range append(p.Objects, p.Generations...) {
			fmt.Fprintf(f.Out, "- %s\n", name)
		}
	}
	fmt.Fprintf(f.Out, "%s: %s %s and %s, %d kB, from %s: complete are generations %d to %d\n",
		p.Cluster, verb, plural.Of(len(p.Objects), "object"), plural.Of(len(p.Generations), "record"),
		(p.Bytes+500)/1000, p.From, p.Oldest, p.Generation)
	return nil
}
