package changes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestCauseIsTheInnermostThatSaysWhatItDid(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("install x: no URL gave the right archive:\n%w\nput it there", errors.Join(errors.New("first"), fmt.Errorf("from y: %w", refused))), "dial tcp: connect: connection refused"},
		{fmt.Errorf("write: %w", &os.PathError{Op: "open", Path: "/x", Err: syscall.EBUSY}), "open /x: device or resource busy"},
		{errors.New("plain"), "plain"},
	} {
		if got := Cause(c.err).Error(); got != c.want {
			t.Errorf("Cause(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}
