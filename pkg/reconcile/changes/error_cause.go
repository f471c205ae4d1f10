package changes

import (
	"os"
	"syscall"
)

// Cause is the error that others wrapped, with what it was doing when it met
// the kernel's answer: "dial tcp 192.0.2.1:443: connect: connection refused". The
// whole of it is told if the last attempt fails too.
func Cause(err error) error {
	for {
		var inner error
		switch e := err.(type) { // this is the walk itself
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
