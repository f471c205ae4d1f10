package watch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listener is a source that reads a file in a goroutine.
type listener struct {
	w      *Watcher
	source Source
	file   *os.File // nil: it is not listening
	done   sync.WaitGroup
}

func (l *listener) name() Source { return l.source }

// ended reports whether the source does not listen. It closes a source that has ended by itself.
func (l *listener) ended() bool {
	if l.file != nil && !l.w.isUnwatched(l.source) {
		return false
	}
	_ = l.close()
	return true
}

// close stops the reader and waits for its end.
func (l *listener) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.done.Wait()
	l.file = nil
	return err
}

// watchPause is how long a source waits for more events after it has handled some. This limits the
// cost of many events.
const watchPause = 5 * time.Millisecond

// readEvents reads from a non-blocking descriptor until it is closed, or until a read fails. It
// returns nil after a close. It reads all available events, and then waits for [watchPause]. failed
// gets the error of a read, and returns whether to go on.
func readEvents(file *os.File, room int, heard func([]byte), failed func(error) bool) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("listen to %s: %w", file.Name(), err)
	}
	buf := make([]byte, room)
	var end error
	drain := func(fd uintptr) bool {
		for some := false; ; some = true {
			n, err := unix.Read(int(fd), buf)
			switch {
			case errors.Is(err, unix.EAGAIN):
				return some
			case errors.Is(err, unix.EINTR):
			case err != nil:
				if !failed(err) {
					end = fmt.Errorf("listen to %s: %w", file.Name(), err)
					return true
				}
			default:
				heard(buf[:n])
			}
		}
	}
	for {
		err := raw.Read(drain)
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("listen to %s: %w", file.Name(), err)
		case end != nil:
			return end
		}
		time.Sleep(watchPause)
	}
}
