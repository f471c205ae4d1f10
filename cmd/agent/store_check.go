package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// checkOptions are the flags of check. Publish has them too, except the format.
type checkOptions struct {
	facts, format string
	strict        bool
}

const formatGitHub = "github"

func checkCommand(f *cli.Flags) *cobra.Command {
	var c checkOptions
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Validate every document, node group and node of a store, off-host",
		Long: `check decodes every document, merges every node group and node, and builds their
tasks as a host with the given facts would. It checks that the store's certificates
have not expired, and that assets have their hashes and members. It reports once what
concerns many nodes. It changes nothing and needs no host, so run it in CI before a
merge.

Exit code: 0 no errors, but perhaps warnings; 1 errors.`,
		Example: `  agent facts -o json > node.json          # on a node, once
  agent store check ./store --facts node.json
  agent store check ./store --strict --format github`,
		Args: oneArg("the store's directory", "agent store check ./store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.format != "text" && c.format != formatGitHub {
				return problem.Usage.Errorf("--format %s: expected text or github; for programs there is -o json",
					c.format)
			}
			return c.run(cmd.Context(), f, args[0])
		},
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&c.format, "format", "text", "text, or github: annotations of a workflow's files")
	complete(cmd, "format", "text", formatGitHub)
	return cmd
}

func (c *checkOptions) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.facts, "facts", "",
		"`FILE` with the saved facts of a host, from agent facts -o json (default: an ordinary node)")
	cmd.Flags().BoolVar(&c.strict, "strict", false, "treat warnings as errors")
}

func (c *checkOptions) run(ctx context.Context, f *cli.Flags, dir string) error {
	all, ok, err := c.all(ctx, f, dir)
	switch {
	case err != nil:
		return err
	case !f.Text():
		err = f.Data(all)
	case c.format == formatGitHub:
		annotate(f.Out, dir, all)
	default:
		c.printAll(f.Out, all)
	}
	if err == nil && !ok {
		return cli.ExitError
	}
	return err
}

// all checks all clusters of a directory, or the named one.
func (c *checkOptions) all(ctx context.Context, f *cli.Flags, dir string) (all []*check.Checked, ok bool, err error) {
	var facts *host.Facts
	if c.facts != "" {
		if facts, err = readFacts(c.facts); err != nil {
			return nil, false, err
		}
	}
	dir, clusters, err := clustersOf(f, dir)
	if err != nil {
		return nil, false, err
	}
	ok = true
	for _, cluster := range clusters {
		store, err := stores.Open(dir, cluster, stores.Options{})
		if err != nil {
			return nil, false, err
		}
		one, err := check.Check(ctx, store, facts)
		if err != nil {
			return nil, false, err
		}
		all, ok = append(all, one), ok && c.passes(one)
	}
	return all, ok, nil
}

func readFacts(path string) (*host.Facts, error) {
	data, err := cli.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the saved facts: %w: save them on a node with `agent facts -o json`", err)
	}
	facts := &host.Facts{}
	if err := json.Unmarshal(data, facts); err != nil {
		return nil, fmt.Errorf("%s holds no facts (%w): save them on a node with `agent facts -o json`", path, err)
	}
	return facts, nil
}

func (c *checkOptions) passes(one *check.Checked) bool {
	return one.OK() && (!c.strict || !one.Warns(true))
}

// howToHide says what to do about private keys that every node can read.
const howToHide = "make new keys in their place, publish, and remove these with `agent store prune` once no node " +
	"takes a generation that names them"

func (c *checkOptions) printAll(out io.Writer, all []*check.Checked) {
	for _, one := range all {
		said(out, one)
		for _, n := range one.Nodes {
			if n.Error == "" {
				fmt.Fprintf(out, "%s: %s: network %s, %s\n", one.Cluster, n.Subject(), n.Network,
					plural.Of(n.Tasks, "task"))
			}
		}
		for _, note := range one.SharedNotes() {
			fmt.Fprintf(out, "%s: %s: note: %s\n", one.Cluster, check.NamesOf(note.Nodes), note.Text)
		}
		switch {
		case !c.passes(one) && one.OK():
			fmt.Fprintf(out, "%s: has warnings, which --strict takes for errors\n", one.Cluster)
		case !one.OK():
			fmt.Fprintf(out, "%s: has errors\n", one.Cluster)
		case one.Warns(false):
			fmt.Fprintf(out, "%s: can be published, with the warnings above\n", one.Cluster)
		default:
			fmt.Fprintf(out, "%s: all is well\n", one.Cluster)
		}
	}
}

// said prints the errors and warnings of one cluster.
func said(out io.Writer, one *check.Checked) {
	for _, d := range one.Diagnostics {
		fmt.Fprintf(out, "%s/%s\n", one.Cluster, d)
	}
	for _, text := range one.Notes {
		fmt.Fprintf(out, "%s: warning: %s %s\n", one.Cluster, text, problem.DocumentNotRead)
	}
	if len(one.Exposed) > 0 {
		fmt.Fprintf(out, "%s: warning: every node can read %s: %s %s\n", one.Cluster, strings.Join(one.Exposed, ", "),
			howToHide, problem.KeypairExposed)
	}
	for _, d := range one.Findings {
		if d.Origin.File != "" {
			fmt.Fprintf(out, "%s/%s\n", one.Cluster, d)
		} else {
			fmt.Fprintf(out, "%s: %s\n", one.Cluster, d)
		}
	}
}

// annotate prints workflow annotations for GitHub. Its paths begin with dir.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
func annotate(out io.Writer, dir string, all []*check.Checked) {
	for _, one := range all {
		base := dir
		if filepath.Base(filepath.Clean(dir)) != one.Cluster {
			base = path.Join(dir, one.Cluster)
		}
		for _, d := range one.Diagnostics {
			annotation(out, base, check.Finding{Diagnostic: d})
		}
		for _, finding := range one.Findings {
			annotation(out, base, finding)
		}
		for _, text := range one.Notes {
			annotation(out, base, check.Finding{Diagnostic: document.Diagnostic{Severity: document.SeverityWarning,
				ID: problem.DocumentNotRead, Summary: text}})
		}
		for _, name := range one.Exposed {
			annotation(out, base, check.Finding{Diagnostic: document.Diagnostic{Severity: document.SeverityWarning,
				ID: problem.KeypairExposed, Origin: document.Origin{File: name},
				Summary: "every node can read " + name, Hint: howToHide}})
		}
	}
}

var (
	inMessage = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	})
	inProperty = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	})
)

func annotation(out io.Writer, base string, f check.Finding) {
	properties := "title=" + inProperty().Replace(string(f.ID))
	if f.Origin.File != "" {
		properties += ",file=" + inProperty().Replace(path.Join(base, f.Origin.File))
	}
	if f.Origin.Line > 0 {
		properties += fmt.Sprintf(",line=%d,col=%d", f.Origin.Line, f.Origin.Column)
	}
	text := f.Summary
	if f.Expected != "" {
		text += "\nexpected: " + f.Expected
	}
	if f.Hint != "" {
		text += "\n" + f.Hint
	}
	if len(f.Nodes) > 0 {
		text += "\nof " + strings.Join(f.Nodes, ", ")
	}
	level := string(f.Severity)
	if f.Severity == document.SeverityNote {
		level = "notice"
	}
	fmt.Fprintf(out, "::%s %s::%s\n", level, properties, inMessage().Replace(text))
}
