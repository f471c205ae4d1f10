package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// Format is what this agent knows of the form of everything below [Dir]. It is raised by a change
// that an agent of the format before would read wrongly, and not by a field more. Who writes
// another than 1 says so in [FormatFile] before anything else; where there is no such file it is 1,
// so that a node of format 1 has none.
const Format = 1

// FormatFile has a line: the format, and the version of the agent that wrote it.
const FormatFile = Dir + "/format"

// NewerError says that the agent's memory was written by a later version. Nothing may be changed by
// what one does not understand: the node stays as it is.
type NewerError struct {
	Format string // as it stands there
	By     string // the version that wrote it; "": it does not say
}

func (e *NewerError) Error() string {
	by, install := "a later version of netwright", "that version or a later one"
	if e.By != "" {
		by, install = "netwright "+e.By, "that version, or a later one,"
	}
	return fmt.Sprintf("%s is of format %s, written by %s, and this agent knows format %d: it changes nothing here, "+
		"and the node stays as it is: install %s again; "+
		"to go back to this one for good run `agent reset` with the later one first", Dir, e.Format, by, Format,
		install)
}

// CheckFormat is a [NewerError] if the state is of a later format, or says of itself what cannot be
// read.
func CheckFormat(r Reader) error {
	data, err := r.ReadFile(FormatFile)
	switch {
	case isMissing(err): // to whom this is closed, so is the journal
		return nil
	case err != nil:
		return fmt.Errorf("read the format of the agent's memory: %w", err)
	}
	format, by, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	if n, err := strconv.Atoi(format); err == nil && n >= 1 && n <= Format {
		return nil
	}
	return &NewerError{Format: fmt.Sprintf("%.20q", format), By: fmt.Sprintf("%.40s", by)}
}
