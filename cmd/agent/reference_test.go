package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netwright/netwright/pkg/cli"
)

const referenceFile = "../../docs/reference/commands.md"

// TestReference compares the manual of the commands with the commands of the program.
func TestReference(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "<!-- Generated from the commands: `go test ./cmd/agent -run TestReference -update` writes it. -->")
	fmt.Fprint(&out, "\n# Every command\n\nWhat each prints with `--help`; packages and `agent install` bring the same as manual pages, `man netwright-store-publish`. Exit codes, and what is the same for all:\n[the command line](../command-line.md).\n")
	root := tree()
	for _, cmd := range commandsBelow(root) {
		writeCommand(&out, cmd)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(referenceFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(referenceFile, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(referenceFile)
	if diff := cmp.Diff(string(have), out.String()); err != nil || diff != "" {
		t.Errorf("docs/reference/commands.md is stale: `go test ./cmd/agent -run TestReference -update` writes it (-is +should be):\n%s", diff)
	}
}

// tree returns all commands, with those that cobra adds when it runs.
func tree() *cobra.Command {
	root := rootCommand(&cli.Flags{Output: cli.Output{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}})
	root.InitDefaultHelpFlag()
	root.InitDefaultCompletionCmd()
	return root
}

func writeCommand(out *bytes.Buffer, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(out, "\n## %s\n\n%s.\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."))
	text := "    " + cmd.UseLine() + "\n"
	if cmd.Long != "" && cmd.Name() != "completion" {
		text += "\n" + indent(cmd.Long)
	}
	if cmd.Example != "" {
		text += "\n" + indent(strings.ReplaceAll(cmd.Example, "\n  ", "\n")[2:])
	}
	fmt.Fprintf(out, "\n%s", text)
	var rows strings.Builder
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, usage := flagHelp(f)
		fmt.Fprintf(&rows, "| `%s` | %s |\n", name, strings.NewReplacer("|", "\\|", "*", "\\*", "<", "&lt;").Replace(usage))
	})
	if rows.Len() > 0 {
		fmt.Fprintf(out, "\n| flag | |\n|---|---|\n%s", rows.String())
	}
}

// indent makes a text a block of code in Markdown.
func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if strings.TrimSpace(line) == "" {
			out.WriteString("\n")
			continue
		}
		out.WriteString("    " + line)
	}
	return out.String()
}

// The type of a flag is one word, since pflag takes the first text between backquotes as the type.
func TestTypesOfFlags(t *testing.T) {
	for _, cmd := range commandsBelow(tree()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.Contains(name, " ") {
				t.Errorf("%s: the type of --%s is %q: expected one word", cmd.CommandPath(), f.Name, name)
			}
		})
	}
}
