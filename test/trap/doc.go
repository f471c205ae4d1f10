// Package trap stops a program before each system call that changes something, and lets a test
// decide: the call goes on, the call fails with an errno, or the program is killed there. It uses
// the user notification of seccomp (seccomp_unotify(2)), which reports the calls of all threads one
// after another. So "the 17th call" is a place in the program. strace counts for each thread, so
// its counters do not name a place.
//
// A test binary that uses the package calls [Main] first in its TestMain, because the program is
// started through it.
package trap

// Call is a system call that has not run yet.
type Call struct {
	N      int    // counted from 1, over all threads
	Name   string // renameat2, write, sendto …
	Target string // the path it names, or what its descriptor is
}

// Decision says what happens to a call. The zero value lets the call run.
type Decision struct {
	Kill  bool // SIGKILL to the whole process, with the call not done
	Errno int  // the call is not done and returns this
}

// Outcome is the end of a trapped program.
type Outcome struct {
	Code           int  // exit status
	Killed         bool // by SIGKILL
	Calls          []Call
	Stdout, Stderr string
}
