package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// named finds a command line of the agent in a text: in backquotes, as a line of a block, or
	// behind a prompt.
	named = regexp.MustCompile("(?m)(?:`|^\\$ |^    (?:\\$ |sudo )?)(?:bin/)?(?:agent|netwright)((?: [^\\s`#|;&()]+)*)")
	word  = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// TestDocumentsNameWhatIsThere: the agent has each command and each flag that a document names.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root := tree()
	for _, wrong := range []string{"--onec", "status --wach", "store chek", "--once store publish --kye"} {
		if unknown(root, strings.Fields(wrong)) == "" {
			t.Errorf("agent %s: nothing is found wrong with it", wrong)
		}
	}
	count := 0
	check := func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			count++
			if wrong := unknown(root, strings.Fields(found[1])); wrong != "" {
				t.Errorf("%s: `agent%s`: %s", strings.TrimPrefix(path, "../../"), found[1], wrong)
			}
		}
		return nil
	}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" || path == referenceFile {
			return err
		}
		return check(path)
	})
	if err == nil {
		err = check("../../README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	if count < 100 {
		t.Errorf("only %d command lines were found in the documents", count)
	}
}

// unknown returns the part of a command line that the agent does not have; "" if it has all of it.
func unknown(root *cobra.Command, args []string) string {
	at := root
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.Trim(arg, "[]'\",."), "=")
		switch {
		case strings.HasPrefix(name, "--"):
			if name != "--" && name != "--help" && at.Flags().Lookup(name[2:]) == nil && at.InheritedFlags().Lookup(name[2:]) == nil && at.PersistentFlags().Lookup(name[2:]) == nil {
				return at.CommandPath() + " has no flag " + name
			}
		case at.HasSubCommands() && word.MatchString(name):
			next := at
			for _, sub := range at.Commands() {
				if sub.Name() == name {
					next = sub
				}
			}
			if next == at && at != root {
				return "there is no command " + at.CommandPath() + " " + name
			}
			at = next
		}
	}
	return ""
}
