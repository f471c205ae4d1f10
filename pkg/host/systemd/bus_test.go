package systemd

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
)

// A systemd that accepts connections and never answers does not delay a caller that is told to
// stop.
func TestASilentSystemdIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	told := errors.New("told to stop")
	go func() {
		if c, err := l.Accept(); err == nil {
			stop(told)
			defer c.Close()
			<-t.Context().Done()
		}
	}()
	u := &Reader{Here: true, Socket: path, Private: true}
	if _, err := u.connect(ctx); !errors.Is(err, told) {
		t.Errorf("connect: %v, want %v", err, told)
	}
	if u.Connect(ctx); u.bus != nil {
		t.Error("a caller that was told to stop is connected")
	}
}
