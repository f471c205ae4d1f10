package changes

import (
	"os"
	"syscall"
)

// Cause returns the innermost error that still says what was done when the kernel answered, such as
// "dial tcp 192.0.2.1:443: connect: connection refused". The whole error is reported if the last
// attempt fails too.
func Cause(err error) error {
	for {
		var inner error
		switch e := err.(type) { // the loop itself unwraps
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1]
			}
		}
		switch inner.(type) {
		case nil, syscall.Errno, *os.SyscallError:
			return err
		}
		err = inner
	}
}
