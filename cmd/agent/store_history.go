package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
)

func storeHistoryCommand(f *cli.Flags) *cobra.Command {
	last := 0
	cmd := &cobra.Command{
		Use:   "history DEST",
		Short: "List what was published, newest first: when, by whom, from which commit, why",
		Long: `history lists the generations of which a directory or an s3:// URL has a record. It
changes nothing. The signature of a generation covers the values of --publisher,
--commit and --message.`,
		Example: `  agent store history s3://bucket/prefix --cluster demo.example.com`,
		Args:    oneArg("where it is published", "agent store history s3://bucket/prefix --cluster demo.example.com"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 1 {
				return problem.Usage.Errorf("--last %d: expected a number from 1", last)
			}
			return eachPublished(f, args[0], func(from objectstore.Destination, cluster string) error {
				list, err := publisher.History(cmd.Context(), from, cluster, last)
				if err != nil {
					return problem.Store.Wrap(err)
				}
				if !f.Text() {
					return f.Data(struct {
						Cluster     string           `json:"cluster"`
						Generations []publisher.Past `json:"generations"`
					}{cluster, list})
				}
				pastText(f.Out, cluster, list)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&last, "last", 20, "list at most this many generations")
	return cmd
}

func pastText(out io.Writer, cluster string, list []publisher.Past) {
	fmt.Fprintf(out, "%s\n  %-12s%-22s%-14s%s\n", cluster, "GENERATION", "PUBLISHED", "SHA256", "BY")
	for _, p := range list {
		mark := " "
		if p.Current {
			mark = "*"
		}
		by := p.Note.String()
		switch {
		case p.Error != "":
			by = "✗ " + p.Error
		case by == "":
			by = "publisher unknown"
		}
		if p.Several && !p.Current {
			by += " (one of several records of this number: it may never have been published)"
		}
		fmt.Fprintf(out, "%s %-12d%-22s%-14.12s%s\n", mark, p.Generation, report.Stamp(p.Published), p.Digest, by)
	}
}
