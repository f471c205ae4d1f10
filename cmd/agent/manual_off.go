//go:build !manual

package main

import "github.com/spf13/cobra"

// buildTools are commands of a build, not of the agent as it ships.
func buildTools() []*cobra.Command { return nil }
