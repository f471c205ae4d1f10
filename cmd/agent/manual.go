package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netwright/netwright/pkg/cli"
)

func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "manual DIR",
		Short:  "Write what packages bring to /usr/share: the manual and the completions of shells",
		Hidden: true,
		Args:   oneArg("a directory", "agent manual bin/manual"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := shared(cmd.Root())
			if err != nil {
				return err
			}
			w, dir, err := cli.OpenWriter(args[0])
			if err != nil {
				return err
			}
			defer w.Close() // WriteFile has synced the data
			for name, content := range files {
				if err := w.WriteFile(cmd.Context(), filepath.Join(dir, name), content, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// shared returns the files below the program's share directory, by path: shell completions, and one
// manual page for each command. They use the program's own name, netwright.
func shared(root *cobra.Command) (map[string][]byte, error) {
	defer func(name string) { root.Use = name }(root.Use)
	root.Use = "netwright"
	var bash, zsh, fish bytes.Buffer
	if err := errors.Join(root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh),
		root.GenFishCompletion(&fish, true)); err != nil {
		return nil, fmt.Errorf("write the completions of shells: %w", err)
	}
	files := map[string][]byte{"bash-completion/completions/netwright": bash.Bytes(),
		"zsh/vendor-completions/_netwright": zsh.Bytes(), "fish/vendor_completions.d/netwright.fish": fish.Bytes()}
	for _, cmd := range commandsBelow(root) {
		page, err := zipped(manualPage(cmd))
		if err != nil {
			return nil, fmt.Errorf("write the manual: %w", err)
		}
		files["man/man1/"+pageName(cmd)+".1.gz"] = page
	}
	return files, nil
}

// zipped compresses a text as `gzip -9n` does: without name and time.
func zipped(text string) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write([]byte(text))
	err = cmp.Or(err, w.Close()) // Close writes the rest
	return out.Bytes(), err
}

// commandsBelow returns a command and all visible commands below it.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && cmd.Name() != "completion" {
			all = append(all, commandsBelow(sub)...)
		}
	}
	return all
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns what --help shows for a command, in the format of man(7).
func manualPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	name := pageName(cmd)
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q Netwright\n.nh\n.ad l\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n",
		strings.ToUpper(name), "netwright "+version, roff(name),
		roff(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]), roff(cmd.UseLine()))
	text := cmp.Or(cmd.Long, cmd.Short+".")
	if !cmd.HasParent() {
		text += "\n\nWhere no other program has the name, `agent` is a link to `netwright`: the examples use it."
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") { // a table, or a command line
			paragraph = ".nf\n" + roff(paragraph) + "\n.fi"
		} else {
			paragraph = roff(paragraph)
		}
		fmt.Fprintf(&b, ".PP\n%s\n", paragraph)
	}
	flags := func(title string, set *pflag.FlagSet) {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name, usage := flagHelp(f)
			fmt.Fprintf(&b, "%s.TP\n.B %s\n%s\n", title, roff(name), roff(usage))
			title = ""
		})
	}
	flags(".SH OPTIONS\n", cmd.NonInheritedFlags())
	flags(".SH OPTIONS OF EVERY COMMAND\n", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.ReplaceAll(cmd.Example, "\n  ", "\n")[2:]))
	}
	var others []string
	cmd.VisitParents(func(parent *cobra.Command) { others = append(others, pageName(parent)) })
	for _, sub := range commandsBelow(cmd)[1:] {
		if sub.Parent() == cmd {
			others = append(others, pageName(sub))
		}
	}
	for i, other := range others {
		others[i] = "\\fB" + roff(other) + "\\fR(1)"
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(others, ",\n"))
	}
	return b.String()
}

// roff escapes a text for troff. A character that a user types stays that character.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
		"\n.", "\n\\&.").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// flagHelp returns a flag as help shows it: its names with the kind of its value, and its
// description.
func flagHelp(f *pflag.Flag) (name, usage string) {
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + kind
	}
	if !strings.Contains(usage, "default") && f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" &&
		f.DefValue != "0" && f.DefValue != "0s" {
		usage += " (default " + f.DefValue + ")"
	}
	return name, usage
}
