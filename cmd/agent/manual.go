//go:build manual

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// buildTools are commands of a build, not of the agent as it ships: what writes manual pages costs
// it half a megabyte.
func buildTools() []*cobra.Command {
	return []*cobra.Command{{
		Use:    "manual DIR",
		Short:  "Write the manual pages and the completions of shells that packages bring",
		Hidden: true,
		Args:   oneArg("a directory", "agent manual bin/manual"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManual(cmd.Root(), args[0])
		},
	}}
}

// writeManual writes what packages bring, by the name that the program has in them. Its time is
// SOURCE_DATE_EPOCH, so that the same source makes the same bytes.
func writeManual(root *cobra.Command, dir string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w: set it to the time of the commit: git log -1 --format=%%ct", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:house hostonly it is a tool of the build
		return fmt.Errorf("make the directory of the manual: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	root.Use = "netwright"
	root.Long += "\n\nWhere no other program has the name, `agent` is a link to `netwright`: the examples use it."
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root,
		&doc.GenManHeader{Section: "1", Source: "netwright " + version, Manual: "Netwright", Date: &date},
		dir); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	for shell, write := range map[string]func(string) error{
		"bash": func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"zsh":  root.GenZshCompletionFile,
		"fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
	} {
		if err := write(filepath.Join(dir, "netwright."+shell)); err != nil {
			return fmt.Errorf("write the completion of %s: %w", shell, err)
		}
	}
	return nil
}
