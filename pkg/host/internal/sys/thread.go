package sys

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread that ends after it, so that changes of the thread's namespaces do not
// affect other goroutines. It does not use the first thread of the process, because /proc/self is
// that thread.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		done <- OnThread(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}
