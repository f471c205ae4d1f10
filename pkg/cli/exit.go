package cli

import "fmt"

// Exit is an error that is only an exit code: everything was said already.
type Exit int

// The exit codes; docs/command-line.md tells users of them.
const (
	ExitOK         Exit = 0
	ExitError      Exit = 1
	ExitChanges    Exit = 2 // there is something to do, and nothing was done
	ExitWaiting    Exit = 3 // something is still waited for
	ExitNotRunning Exit = 4 // no daemon runs
)

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
