package sys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

// DumpTries limits how often a list is read again. A list is inconsistent only if something changed
// within the milliseconds of reading it.
const DumpTries = 10

// Dump reads a list from the kernel until it is consistent. If something changes while the kernel
// sends a list, the kernel marks the answer with NLM_F_DUMP_INTR (linux/netlink.h): entries may be
// missing or double. Dump never returns such an answer, and reads again.
func Dump[T any](ctx context.Context, what string, list func() (T, error)) (T, error) {
	var none T
	for try := range DumpTries {
		if err := context.Cause(ctx); err != nil {
			return none, err
		}
		if try > 0 {
			time.Sleep(time.Millisecond << min(try, 6)) // 2 ms to 64 ms, to let the change finish
		}
		out, err := list()
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, netlink.ErrDumpInterrupted):
			return none, fmt.Errorf("list %s: %w", what, err)
		}
	}
	return none,
		fmt.Errorf("list %s: changed during each of %d readings, something alters the network without pause: %w",
			what, DumpTries, netlink.ErrDumpInterrupted)
}
