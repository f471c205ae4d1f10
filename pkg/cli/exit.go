package cli

import "fmt"

// Exit is an error that is only an exit code: everything was said already.
type Exit int

// The exit codes; docs/command-line.md tells users of them.
const (
	ExitOK         Exit = 0
	ExitError      Exit = 1
	ExitChanges    Exit = 2 // --dry-run: there is something to do
	ExitWaiting    Exit = 3 // --once --wait: still waiting
	ExitNotRunning Exit = 4 // status: no daemon runs
)

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
