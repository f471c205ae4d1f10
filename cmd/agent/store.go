package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/agent"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore"
)

func storeCommand(f *flags, s streams) *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Work with a state store", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var facts string
	check := &cobra.Command{
		Use:   "check DIR",
		Short: "Validate every document, node group and node of a store, off-host",
		Long: `check decodes every document, merges every node group and node, and builds their
tasks as a host with the given facts would. It changes nothing and needs no host:
run it in CI before a merge. Exit 0: all is well; 1: it is not.`,
		Example: `  agent facts -o json > node.json          # on a node, once
  agent store check ./store --facts node.json`,
		Args: oneArg("the store's directory", "agent store check ./store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkStore(cmd.Context(), f, s, args[0], facts)
		},
	}
	check.Flags().StringVar(&facts, "facts", "", "saved facts of a host, from `agent facts -o json` (default: an ordinary node)")
	cmd.AddCommand(check, publishCommand(f, s), signCommand(f, s), pruneCommand(f, s), verifyStoreCommand(f, s), keygenCommand(s))
	return cmd
}

func checkStore(ctx context.Context, f *flags, s streams, dir, factsFile string) error {
	all, ok, err := checkAll(ctx, f, dir, factsFile)
	if err != nil {
		return err
	}
	if !f.text() {
		if err := f.data(s, all); err != nil {
			return err
		}
	} else {
		printChecked(s.out, all)
	}
	if !ok {
		return exit(exitError)
	}
	return nil
}

// checkAll checks the clusters of a directory, or the one that is named.
func checkAll(ctx context.Context, f *flags, dir, factsFile string) (all []*agent.Checked, ok bool, err error) {
	facts := agent.PlainFacts()
	if factsFile != "" {
		if facts, err = readFacts(factsFile); err != nil {
			return nil, false, err
		}
	}
	dir, clusters, err := clustersOf(f, dir)
	if err != nil {
		return nil, false, err
	}
	ok = true
	for _, cluster := range clusters {
		store, err := statestore.Open(dir, cluster, statestore.Options{})
		if err != nil {
			return nil, false, err
		}
		c, err := agent.Check(ctx, store, facts)
		if err != nil {
			return nil, false, err
		}
		all, ok = append(all, c), ok && c.OK()
	}
	return all, ok, nil
}

// howToHide says what becomes of private keys that every node could read.
const howToHide = "make new keys in their place, publish, and remove these with `agent store prune` once no node takes a generation that names them"

func printChecked(out io.Writer, all []*agent.Checked) {
	for _, c := range all {
		for _, d := range c.Diagnostics {
			fmt.Fprintf(out, "%s/%s\n", c.Cluster, d)
		}
		for _, text := range c.Notes {
			fmt.Fprintf(out, "%s: warning: %s\n", c.Cluster, text)
		}
		if len(c.Exposed) > 0 {
			fmt.Fprintf(out, "%s: warning: every node can read %s: %s\n", c.Cluster, strings.Join(c.Exposed, ", "), howToHide)
		}
		for _, n := range c.Nodes {
			who := "every node"
			switch {
			case n.Node != "":
				who = "node " + n.Node
			case n.NodeGroup != "":
				who = "node group " + n.NodeGroup
			}
			if n.Error != "" {
				fmt.Fprintf(out, "%s: %s: %s\n", c.Cluster, who, n.Error)
				continue
			}
			fmt.Fprintf(out, "%s: %s: network %s, %d tasks\n", c.Cluster, who, n.Network, n.Tasks)
			for _, text := range n.Notes {
				fmt.Fprintf(out, "%s: %s: note: %s\n", c.Cluster, who, text)
			}
		}
		if c.OK() {
			fmt.Fprintf(out, "%s: all is well\n", c.Cluster)
		} else {
			fmt.Fprintf(out, "%s: has errors\n", c.Cluster)
		}
	}
}

func readFacts(path string) (*host.Facts, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the saved facts: %w: save them on a node with `agent facts -o json`", err)
	}
	facts := &host.Facts{}
	if err := json.Unmarshal(data, facts); err != nil {
		return nil, fmt.Errorf("%s holds no facts (%w): save them on a node with `agent facts -o json`", path, err)
	}
	return facts, nil
}
