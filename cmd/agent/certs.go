package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/certs/issue"
)

func certsCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "certs",
		Short: "List the certificates of this node, and how long they last",
		Long: `certs lists the certificates that the agent installed on this node, the CA beside
each, and those that it waits for. It asks the ledger and the files, not the store.

Exit code: 0 all is well, 2 somebody must do something (one ends and nobody renews it,
has expired, is missing or does not fit), 3 one is awaited, 1 error.`,
		Example: `  agent certs
  agent certs -o json
  agent --root /mnt certs                of an image`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := f.readConf(); err != nil {
				return err
			}
			node := f.node
			if node == "" {
				name, err := os.Hostname()
				if err != nil {
					return fmt.Errorf("find the node's name: %w; name it with --node", err)
				}
				node = name
			}
			all, err := issue.List(f.local().Host, node, time.Now())
			if err != nil {
				return err
			}
			if f.text() {
				certsText(s, all)
			} else if err := f.data(s, all); err != nil {
				return err
			}
			return certsExit(all)
		},
	}
}

// certsExit is the exit code: what needs somebody comes before what only needs time.
func certsExit(all []issue.CertStatus) error {
	code := exitOK
	for i := range all {
		switch c := &all[i]; {
		case c.State == issue.CertRequested && code == exitOK:
			code = exitWaiting
		case c.State != issue.CertRequested && !c.OK() && c.Wanted:
			code = exitChanges
		}
	}
	if code != exitOK {
		return exit(code)
	}
	return nil
}

func certsText(s streams, all []issue.CertStatus) {
	if len(all) == 0 {
		fmt.Fprintln(s.out, "the agent has no certificate on this node")
		return
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
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
	w.Flush() // as much as went to out
	for i := range all {
		if c := &all[i]; c.Problem != "" {
			fmt.Fprintf(s.out, "%s: %s\n", c.Name, c.Problem)
		}
	}
}

// moment is a time in a table; "-" is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
