package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// Format is the version of everything below [Dir] that this agent reads and writes. A change raises
// it only if an agent of the version before would read the result wrongly, and not for an
// additional field. An agent that writes a version other than 1 writes [FormatFile] before anything
// else. Without that file the version is 1.
const Format = 1

// FormatFile has one line: the format and the version of the agent that wrote it.
const FormatFile = Dir + "/format"

// NewerError is the error for a ledger that a later version wrote. The agent changes nothing then,
// because it does not understand the ledger.
type NewerError struct {
	Format string // as the file has it
	By     string // version that wrote it; "" if the file does not say
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

// CheckFormat returns a [NewerError] if the ledger has a later format, or a format that cannot be
// decoded.
func CheckFormat(r Reader) error {
	data, err := r.ReadFile(FormatFile)
	switch {
	case isMissing(err): // a user who may not read it may not read the journal either
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
