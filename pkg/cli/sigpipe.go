package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// OutlivePipe lets a process go on with its changes after the reader of its output has gone, for
// example a stopped journald or a pager that the user left. By default Go ends a program that
// writes to a broken pipe on stdout or stderr, and systemd takes that for a clean exit and does not
// start the unit again (https://pkg.go.dev/os/signal#hdr-SIGPIPE, SuccessExitStatus= in
// systemd.service). OutlivePipe catches SIGPIPE and does not ignore it, because programs that the
// agent starts would inherit an ignored signal.
func OutlivePipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
