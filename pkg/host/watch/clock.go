package watch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// clockWatch notices when the wall clock is set, as a time server does minutes after a boot. The
// kernel then cancels a timer of that clock, and a read of the timer returns an error
// (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). The same happens when the machine resumes from
// suspend.
type clockWatch struct{ listener }

func (c *clockWatch) set(*Interest) error {
	if !c.ended() {
		return nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("listen to the clock: %w", err)
	}
	c.file = os.NewFile(uintptr(fd), "the clock")
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: 1<<31 - 1}} // 2038: then it fires once, and is read
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil); err != nil {
		return fmt.Errorf("listen to the clock: %w", err)
	}
	c.done.Go(c.listen)
	return nil
}

// listen reports each step of the clock until the file is closed. Another error ends the watch.
func (c *clockWatch) listen() {
	err := readEvents(c.file, 8, func([]byte) {}, func(err error) bool {
		step := errors.Is(err, unix.ECANCELED)
		if step {
			c.w.trigger(Clock, "the clock was set", false)
		}
		return step
	})
	if err != nil {
		c.w.lose(Clock, err)
	}
}
