package publish

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// manager is systemd's end of NOTIFY_SOCKET.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(socketDir(t), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return socket
}

// socketDir returns a directory for a socket, whose path may have at most 107 bytes (unix(7)). So
// the directory is not below TMPDIR, whose path may be long.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "netwright-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// hears reads one message. A deadline ends a test that hangs.
func hears(t *testing.T, socket *net.UnixConn) string {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := socket.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestMessages(t *testing.T) {
	socket := manager(t)
	for _, say := range []func() error{
		func() error { return Systemd{}.Status("bridge: 3 of 4 right") },
		func() error { return Systemd{}.Ready("bridge: 4 of 4 right") },
		func() error { return Systemd{}.Status("two\nREADY=1\nlines\x1b[2J") }, // an error's text must not become a message of its own
		func() error { return Systemd{}.Stopping() },
	} {
		if err := say(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for range 4 {
		got = append(got, hears(t, socket))
	}
	want := []string{"STATUS=bridge: 3 of 4 right", "READY=1\nSTATUS=bridge: 4 of 4 right", `STATUS=two READY=1 lines\x1b[2J`, "STOPPING=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if err := (Systemd{}).Ready("x"); err != nil {
		t.Errorf("without a service manager: %v", err)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	if err := (Systemd{}).Ready("x"); err == nil {
		t.Error("the message was lost and nobody hears of it")
	}
}

func TestWatchdogIsPettedOnlyWhileAlive(t *testing.T) {
	socket := manager(t)
	t.Setenv("WATCHDOG_USEC", strconv.Itoa(30_000))
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithCancelCause(t.Context())
	asked, alive := make(chan struct{}), make(chan bool)
	ended := make(chan error)
	go func() {
		ended <- Systemd{}.Watchdog(ctx, func() bool {
			asked <- struct{}{}
			return <-alive
		})
	}()
	<-asked
	alive <- true
	if got := hears(t, socket); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	for range 3 { // it hangs: systemd gets no sign of life
		<-asked
		alive <- false
	}
	<-asked
	alive <- true
	if got := hears(t, socket); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	if err := socket.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := socket.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes more than it was alive for", n)
	}
	go func() { // a question may be under way
		for range asked {
			alive <- false
		}
	}()
	cancel(errors.New("enough"))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(asked)
}

func TestNoWatchdogWithoutItsInterval(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := (Systemd{}).Watchdog(ctx, func() bool { t.Error("asked"); return true }); err != nil {
		t.Error(err)
	}
}
