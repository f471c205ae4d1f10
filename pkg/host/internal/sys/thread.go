package sys

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread that is thrown away after it: what f did to the
// thread's namespaces must not meet other goroutines. The first thread of the
// process is not used, since /proc/self is that thread.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		done <- OnThread(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}
