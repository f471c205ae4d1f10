package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/report"
)

func certsCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "certs",
		Short: "List the certificates of this node, and how long they last",
		Long: `certs lists the certificates that the agent installed on this node, the CA of each,
and the certificates that the agent waits for. It reads the ledger and the files, not
the store.

Exit code: 0 all is right, 2 somebody must act (a certificate expires and nobody renews
it, has expired, is missing or does not fit), 3 one is awaited, 1 error.`,
		Example: `  agent certs
  agent certs -o json
  agent --root /mnt certs                of an image`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) (err error) {
			if err := f.Read(); err != nil {
				return err
			}
			node := f.Node
			if node == "" {
				if node, err = cli.Hostname(); err != nil {
					return err
				}
			}
			all, err := issue.List(f.Host, node, time.Now())
			if err != nil {
				return err
			}
			if f.Text() {
				certsText(f.Out, all)
			} else if err := f.Data(all); err != nil {
				return err
			}
			return certsExit(all)
		},
	}
}

// certsExit returns the exit code: a certificate that needs an action counts before one that is
// only awaited.
func certsExit(all []issue.CertStatus) error {
	code := cli.ExitOK
	for i := range all {
		switch c := &all[i]; {
		case c.State == issue.CertRequested && code == cli.ExitOK:
			code = cli.ExitWaiting
		case c.State != issue.CertRequested && !c.OK() && c.Wanted:
			code = cli.ExitChanges
		}
	}
	if code != cli.ExitOK {
		return code
	}
	return nil
}

func certsText(out io.Writer, all []issue.CertStatus) {
	if len(all) == 0 {
		fmt.Fprintln(out, "the agent has no certificate on this node")
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tSOURCE\tNOT AFTER\tRENEWED\tSUBJECT\tPATH")
	for i := range all {
		c := &all[i]
		name, source := c.Name, c.Source
		if c.CA {
			name += " (CA)"
		}
		if !c.Wanted {
			source += ", not wanted any more"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, c.State, source, moment(c.NotAfter), moment(c.RenewAt),
			c.Subject, c.Path)
	}
	w.Flush() // errors of out are checked in cli.Output
	for i := range all {
		if c := &all[i]; c.Problem != "" {
			fmt.Fprintf(out, "%s: %s\n", c.Name, c.Problem)
		}
	}
}

// moment formats a time for a table; "-" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return report.Stamp(t)
}
