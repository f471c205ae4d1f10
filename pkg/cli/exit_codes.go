package cli

import "fmt"

// Exit is an error that is only an exit code: the messages were printed before.
type Exit int

// The exit codes; docs/command-line.md documents them.
const (
	ExitOK         Exit = 0
	ExitError      Exit = 1
	ExitChanges    Exit = 2 // there is something to do or to change, and the command changed nothing
	ExitWaiting    Exit = 3 // something is still awaited
	ExitNotRunning Exit = 4 // no daemon runs
)

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
