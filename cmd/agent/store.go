package main

import (
	"encoding/json"
	"fmt"

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
			return checkStore(cmd, f, s, args[0], facts)
		},
	}
	check.Flags().StringVar(&facts, "facts", "", "saved facts of a host, from `agent facts -o json` (default: an ordinary node)")
	cmd.AddCommand(check)
	return cmd
}

func checkStore(cmd *cobra.Command, f *flags, s streams, dir, factsFile string) error {
	facts := agent.PlainFacts()
	if factsFile != "" {
		var err error
		if facts, err = readFacts(factsFile); err != nil {
			return err
		}
	}
	clusters := []string{f.cluster}
	if f.cluster == "" {
		var err error
		if dir, clusters, err = statestore.Clusters(dir); err != nil {
			return err
		}
	}
	var all []*agent.Checked
	ok := true
	for _, cluster := range clusters {
		store, err := statestore.Open(dir, cluster, statestore.Options{})
		if err != nil {
			return err
		}
		c, err := agent.Check(cmd.Context(), store, facts)
		if err != nil {
			return err
		}
		all, ok = append(all, c), ok && c.OK()
	}
	if !f.text() {
		if err := f.data(s, all); err != nil {
			return err
		}
	} else {
		printChecked(s, all)
	}
	if !ok {
		return exit(exitError)
	}
	return nil
}

func printChecked(s streams, all []*agent.Checked) {
	for _, c := range all {
		for _, d := range c.Diagnostics {
			fmt.Fprintf(s.out, "%s/%s\n", c.Cluster, d)
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
				fmt.Fprintf(s.out, "%s: %s: %s\n", c.Cluster, who, n.Error)
				continue
			}
			fmt.Fprintf(s.out, "%s: %s: network %s, %d tasks\n", c.Cluster, who, n.Network, n.Tasks)
			for _, text := range n.Notes {
				fmt.Fprintf(s.out, "%s: %s: note: %s\n", c.Cluster, who, text)
			}
		}
		if c.OK() {
			fmt.Fprintf(s.out, "%s: all is well\n", c.Cluster)
		} else {
			fmt.Fprintf(s.out, "%s: has errors\n", c.Cluster)
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
