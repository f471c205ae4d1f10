package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/support"
)

func supportCommand(f *cli.Flags) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "support",
		Short: "Gather what a bug report needs into one archive, without secrets",
		Long: `support writes an archive for a bug report: status, plan (dry run), history, ledger,
configuration, facts, links, addresses, routes, rules, nft and iptables, the units and
their journal. A mark replaces each secret: private keys, tokens, kubeconfigs, and
contents of files that not every user may read.

It changes nothing on the host, and makes the kernel load nothing. manifest.json notes
each piece that failed or did not end. The others are in the archive. Look through the
archive before you send it.`,
		Example: `  sudo agent support
  sudo agent support --file /tmp/node-1.tar.gz`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSupport(cmd.Context(), f, file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "where the archive goes (default netwright-support-NODE-TIME.tar.gz here)")
	return cmd
}

func runSupport(ctx context.Context, f *cli.Flags, file string) error {
	confErr := f.Read() // an error of the agent's file goes into the archive
	node := f.Node
	if node == "" {
		node, _ = os.Hostname()
	}
	m := support.Manifest{At: time.Now().UTC().Truncate(time.Second), Agent: version, Node: node}
	dir := "netwright-support-" + strings.Map(plainly, node) + "-" + m.At.Format("20060102T150405Z")
	file = cmp.Or(file, dir+".tar.gz")
	redactor, err := support.NewRedactor()
	if err != nil {
		return err
	}
	view, err := host.OpenView(ctx, f.Host)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // it is only read
	view.Files.Follow(ledger.Load(view.Files).Head().Followed())
	g := &gathering{f: f, view: view, confErr: confErr}
	g.secrets(ctx, redactor)
	archive, err := support.Gather(ctx, dir, &m, g.pieces(), redactor)
	if err != nil {
		return err
	}
	w, file, err := cli.OpenWriter(file)
	if err != nil {
		return err
	}
	defer w.Close() // CreateFile has synced and checked the data
	if err := w.CreateFile(ctx, file, archive, 0o600); err != nil {
		return err
	}
	if !f.Text() {
		return f.Data(struct {
			File string `json:"file"`
			support.Manifest
		}{file, m})
	}
	supportText(f.Out, file, dir, m, len(archive))
	return nil
}

// supportText prints where the archive is, what it lacks, and what to check before it is sent.
func supportText(out io.Writer, file, dir string, m support.Manifest, size int) {
	made, taken, failed := 0, 0, []string(nil)
	for _, e := range m.Pieces {
		taken += e.Redacted
		if e.Bytes > 0 {
			made++
		}
		if e.Error != "" {
			why, _, _ := strings.Cut(e.Error, "\n")
			failed = append(failed, "  "+e.Name+": "+why)
		}
	}
	fmt.Fprintln(out, file)
	fmt.Fprintf(out, "%d kB, %s; %s taken out, a mark is in the place of each.\n",
		(size+1023)/1024, plural.Of(made, "piece"), plural.Of(taken, "secret was", "secrets were"))
	if len(failed) > 0 {
		fmt.Fprintf(out, "Not there, or not whole:\n%s\n", strings.Join(failed, "\n"))
	}
	fmt.Fprintf(out,
		`Before you send it, look at what it holds: names and addresses of your nodes are in it.
  tar xzf %s && less %s/manifest.json
  agent/config.json    the documents, as the agent reads them
  host/journal.txt     what the agent logged since the boot
  host/                addresses, routes and firewall
`, file, dir)
}

// plainly replaces each character that a file name should not have.
func plainly(r rune) rune {
	if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '_'
}
