package watch

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An error that ends the watch of the clock is not reported as a step of the clock. The line that
// keeps it: clock.go, listen.
func TestAnErrorIsNoStepOfTheClock(t *testing.T) {
	// Writing leaves bytes that the other end does not read, so its close resets the connection.
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	noError(t, err)
	_, err = unix.Write(ends[0], []byte("unread"))
	noError(t, err, unix.Close(ends[1]))
	w := New(Options{Root: t.TempDir()})
	c := &clockWatch{listener{w: w, source: Clock, file: os.NewFile(uintptr(ends[0]), "the clock")}}
	c.listen()
	got := w.Take()
	if len(got) != 1 || got[0].Events != 1 || !got[0].Lost || !strings.Contains(got[0].Last, "connection reset") {
		t.Errorf("got %+v", got)
	}
	if w.Unwatched()[Clock] == nil {
		t.Error("the clock is not watched any more, and nothing says so")
	}
	noError(t, c.close(), w.Close())
}
