// Package trap stops a program at each system call that changes something, before the kernel does
// it, and lets a test decide: go on, fail with an errno, or kill the program there. It is seccomp's
// user notification (seccomp_unotify(2)): the calls of all threads come one after the other, so
// that "the 17th call" is a place in the program, which strace's counters, one per thread, are not.
//
// A test binary that uses it calls [Main] first in its TestMain: the program is started through it.
package trap

// Call is a system call that is about to be done.
type Call struct {
	N      int    // counted from 1, over all threads
	Name   string // renameat2, write, sendto …
	Target string // the path it names, or what its descriptor is
}

// Decision is what becomes of a call. The zero value lets it pass.
type Decision struct {
	Kill  bool // SIGKILL to the whole process, with the call not done
	Errno int  // the call is not done and returns this
}

// Outcome is how a trapped program ended.
type Outcome struct {
	Code           int  // exit status
	Killed         bool // by SIGKILL
	Calls          []Call
	Stdout, Stderr string
}
