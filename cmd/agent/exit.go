package main

import (
	"fmt"
	"io"
)

// version is set by the linker.
var version = "devel"

// The exit codes; docs/command-line.md tells users of them.
const (
	exitOK         = 0
	exitError      = 1
	exitChanges    = 2 // --dry-run: there is something to do
	exitWaiting    = 3 // --once --wait: still waiting
	exitNotRunning = 4 // status: no daemon runs
)

// streams are where a command reads and writes: data on out, all else on err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exit is an error that is only an exit code: everything was said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
