package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Reader reads systemd over D-Bus and starts nothing. It connects at the first request.
type Reader struct {
	Here    bool   // systemd runs here and may be asked
	Socket  string // of the bus
	Private bool   // Socket is systemd's private socket

	mu     sync.Mutex
	bus    *Bus
	silent error // systemd accepted a connection but did not answer: it is not asked again
}

// Open returns a Reader. If ask is false, or no systemd runs, the Reader does not connect.
func Open(ask bool) *Reader {
	u := &Reader{Socket: SystemSocket}
	// sd_booted(3) checks the same path.
	_, err := os.Stat("/run/systemd/system")
	u.Here = ask && err == nil
	if os.Geteuid() == 0 && unix.Access(PrivateSocket, unix.W_OK) == nil {
		u.Socket, u.Private = PrivateSocket, true
	}
	return u
}

// Close closes the connection.
func (u *Reader) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bus == nil {
		return nil
	}
	err := u.bus.conn.Close()
	u.bus = nil
	if err != nil {
		return fmt.Errorf("close the connection to systemd: %w", err)
	}
	return nil
}

// Connect connects ahead of the first question. It returns no error: the first question reports it.
func (u *Reader) Connect(ctx context.Context) { _, _ = u.connect(ctx) }

// connect returns the connection, and makes a new one if the last one ended because systemd
// re-executed itself. It returns [sys.ErrNoLiveState] where no systemd may be asked.
func (u *Reader) connect(ctx context.Context) (*Bus, error) {
	if !u.Here {
		return nil, sys.ErrNoLiveState
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bus != nil && u.bus.conn.Connected() {
		return u.bus, nil
	}
	if u.silent != nil {
		return nil, u.silent
	}
	b, err := dialBus(ctx, u.Socket, u.Private, nil)
	switch {
	case errors.Is(err, errBusSilent):
		u.silent = fmt.Errorf("%w: see what holds it up with `journalctl _PID=1`", err)
		return nil, u.silent
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: run as root, or as a user whom the system bus lets in", err)
	case err != nil:
		return nil, fmt.Errorf("%w: is systemd running, and dbus beside it?", err)
	}
	if err := b.listen(ctx, u.Private); err != nil {
		return nil, errors.Join(err, b.conn.Close())
	}
	u.bus = b
	return b, nil
}
