package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config"
)

func configCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print this node's merged configuration, each value with its origin",
		Example: `  agent config
  agent config -o json | jq .origins     where each value comes from
  agent --store ./store --node-group nodes --node node-1 config
                                         of another node, on a workstation`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, d, err := f.Load(cmd.Context())
			if err != nil {
				return err
			}
			for _, w := range d.Warnings {
				fmt.Fprintln(f.Err, w)
			}
			for _, text := range d.Damage {
				fmt.Fprintln(f.Err, "agent: warning: "+text)
			}
			if !f.Text() {
				return f.Data(configured{d.Node, origins(d.Node)})
			}
			return printConfig(f.Out, d.Node)
		},
	}
}

// configured is the configuration as JSON: the values, and the origin of each by its path in the
// documents.
type configured struct {
	*config.Node
	Origins map[string]string `json:"origins"`
}

func origins(n *config.Node) map[string]string {
	out := map[string]string{}
	for _, path := range n.Paths() {
		out[path] = n.Origin(path).String()
	}
	return out
}

// printConfig prints one line for each value that has an origin: path, value, origin. It leaves out
// a path whose value is a structure, because the fields of the structure have their own lines. A
// value that must not be printed, such as the content of a file, shows only its origin.
func printConfig(out io.Writer, n *config.Node) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("decode the configuration: %w", err)
	}
	for _, path := range n.Paths() {
		if value, leaf := lookup(doc, jsonPath(path)); leaf {
			fmt.Fprintf(out, "%-48s %-32s %s\n", path, value, n.Origin(path))
		}
	}
	return nil
}

// jsonPath returns where the JSON form has the value of a document's path.
func jsonPath(path string) string {
	switch path {
	case "metadata.name":
		return "cluster"
	case "spec.networking.cni.binDir", "spec.networking.cni.confDir":
		return strings.TrimPrefix(path, "spec.networking.")
	}
	return strings.TrimPrefix(path, "spec.")
}

// lookup returns the value at a path such as "networking.bridge.mtu". leaf is true, with an empty
// value, for a path with a key in brackets and for a value that the JSON form does not have.
func lookup(doc map[string]any, path string) (value string, leaf bool) {
	if strings.Contains(path, "[") {
		return "", true
	}
	name, rest, deeper := strings.Cut(path, ".")
	switch v := doc[name].(type) {
	case map[string]any:
		if !deeper {
			return "{}", len(v) == 0
		}
		return lookup(v, rest)
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			if _, nested := part.(map[string]any); nested {
				return "", false
			}
			parts[i] = fmt.Sprint(part)
		}
		return strings.Join(parts, ", "), true
	case nil:
		return "", path != "spec"
	default:
		return fmt.Sprint(v), true
	}
}
