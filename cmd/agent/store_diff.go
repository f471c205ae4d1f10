package main

import (
	"context"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/statestore/publisher"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

func storeDiffCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "diff DEST A [B]",
		Short: "Show what differs between two published generations",
		Long: `diff compares generation A with generation B, or with the published one. It compares
documents line by line, and keys, certificates and files by name and sha256. Name a
generation by its number, or by the beginning of its sha256. diff changes nothing.

Exit code: 0 they are the same, 2 they differ, 1 error.`,
		Example: `  agent store diff s3://bucket/prefix 11 12 --cluster demo.example.com`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 && len(args) != 3 {
				return problem.Usage.Errorf("%s takes where it is published, one generation or two, and got %s: "+
					"`agent store diff s3://bucket/prefix 11 12`", cmd.Name(), plural.Of(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, "")
			return diff(cmd.Context(), f, args[0], args[1], args[2])
		},
	}
}

func diff(ctx context.Context, f *cli.Flags, location, from, to string) error {
	differ := false
	err := eachPublished(f, location, func(store objectstore.Destination, cluster string) error {
		c, err := publisher.Compare(ctx, store, cluster, from, to)
		if err != nil {
			return problem.Store.Wrap(err)
		}
		differ = differ || len(c.Objects) > 0
		if f.Text() {
			comparedText(f.Out, c)
			return nil
		}
		type difference struct {
			publisher.Difference
			Diff string `json:"diff,omitempty"`
		}
		list := make([]difference, len(c.Objects))
		for i, d := range c.Objects {
			list[i] = difference{d, report.Unified(d.Name, d.Former, d.Later)}
		}
		return f.Data(struct {
			*publisher.Compared
			Objects []difference `json:"objects"`
		}{c, list})
	})
	if err == nil && differ {
		return cli.ExitChanges
	}
	return err
}

func comparedText(out io.Writer, c *publisher.Compared) {
	for _, p := range []struct {
		mark string
		publisher.Past
	}{{"---", c.From}, {"+++", c.To}} {
		fmt.Fprintf(out, "%s %s generation %d, %.12s, published %s", p.mark, c.Cluster, p.Generation, p.Digest,
			report.Stamp(p.Published))
		if by := p.Note.String(); by != "" {
			fmt.Fprintf(out, " by %s", by)
		}
		fmt.Fprintln(out)
	}
	for _, d := range c.Objects {
		switch {
		case d.Before == nil:
			fmt.Fprintf(out, "+ %s, %s, sha256 %.12s\n", d.Name, plural.Of(d.After.Size, "byte"), d.After.SHA256)
		case d.After == nil:
			fmt.Fprintf(out, "- %s, %s, sha256 %.12s\n", d.Name, plural.Of(d.Before.Size, "byte"), d.Before.SHA256)
		default:
			fmt.Fprintf(out, "~ %s, sha256 %.12s → %.12s\n", d.Name, d.Before.SHA256, d.After.SHA256)
		}
		if d.Texts {
			fmt.Fprint(out, report.Unified(d.Name, d.Former, d.Later))
		}
	}
	if len(c.Objects) == 0 {
		fmt.Fprintln(out, "both have the same objects")
	}
}
