// Package terminal reads the console blocks of a page, so that a test can type the same commands
// and compare the output with the page.
package terminal

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Step is a command of a page, and the output that the page shows for it.
type Step struct {
	Line    int    // of the page, counted from 1
	Command string // may have several lines: those of a here-document
	Shows   string // "…" stands for any text of a line, and alone on a line for any lines
}

// block is how a page marks what a reader may type.
const block = "```console"

var heredoc = regexp.MustCompile(`<<'?(\w+)'?$`)

// Read lists the steps of a page's console blocks, in order. A line of a block that begins with "$
// " is a command.
func Read(page string) ([]Step, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("read the page whose commands are tried: %w", err)
	}
	var steps []Step
	inside, until := false, ""
	for i, line := range strings.Split(string(text), "\n") {
		last := len(steps) - 1
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case !inside:
			inside = line == block
		case until != "":
			steps[last].Command += "\n" + line
			if line == until {
				until = ""
			}
		case line == "```":
			inside = false
		case begins:
			steps = append(steps, Step{Line: i + 1, Command: command})
			if m := heredoc.FindStringSubmatch(command); m != nil {
				until = m[1]
			}
		case last < 0:
			return nil, fmt.Errorf("%s:%d: output before any command: begin a command with `$ `", page, i+1)
		default:
			steps[last].Shows += line + "\n"
		}
	}
	return steps, nil
}

// Matches reports whether a command printed what the page shows. It ignores spaces at the end of
// lines, and the number of spaces between columns.
func (s Step) Matches(printed string) bool {
	var form strings.Builder
	form.WriteString("^")
	for line := range strings.Lines(squeeze(s.Shows)) {
		if line == "…\n" {
			form.WriteString(`(.*\n)*`)
			continue
		}
		form.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	form.WriteString("$")
	return regexp.MustCompile(form.String()).MatchString(squeeze(printed))
}

var spaces = regexp.MustCompile(`[ \t]+`)

func squeeze(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if line = strings.TrimSpace(spaces.ReplaceAllString(line, " ")); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
