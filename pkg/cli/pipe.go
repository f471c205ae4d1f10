package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// OutlivePipe keeps what changes the host from being ended in the middle by nobody reading what it
// says: journald that was stopped, a pager that was left. Go ends a program that writes so to its
// stdout or stderr, and systemd takes that for a clean end, and starts it no more
// (https://pkg.go.dev/os/signal#hdr-SIGPIPE, SuccessExitStatus= in systemd.service). Asked for and
// not ignored: programs that are run shall not inherit it.
func OutlivePipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
