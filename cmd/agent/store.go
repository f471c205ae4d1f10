package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/host"
)

func storeCommand(f *flags, s streams) *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Work with a state store", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(checkCommand(f, s), publishCommand(f, s), signCommand(f, s), pruneCommand(f, s),
		verifyStoreCommand(f, s), storeHistoryCommand(f, s), storeDiffCommand(f, s), vendorCommand(f, s), keygenCommand(s))
	return cmd
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
