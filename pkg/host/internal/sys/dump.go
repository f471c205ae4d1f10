package sys

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

// DumpTries bounds how often a list is read anew. A list is torn only when
// something changed within the milliseconds of reading it.
const DumpTries = 10

// Dump reads a list from the kernel until it comes whole. When something
// changes while the kernel sends a list, it marks the answer with
// NLM_F_DUMP_INTR: entries may be missing or double. Such an answer is never
// used; reading again is the only remedy (linux/netlink.h, NLM_F_DUMP_INTR).
func Dump[T any](ctx context.Context, what string, list func() (T, error)) (T, error) {
	var none T
	for try := range DumpTries {
		if err := context.Cause(ctx); err != nil {
			return none, err
		}
		if try > 0 {
			time.Sleep(time.Millisecond << min(try, 6)) // 2 ms to 64 ms: let it finish what it does
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
