package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// copied is the copy that this process made last, and checked: what it is a copy of stays the same
// as long as the process lives.
var copied copyMade

// copyMade is a file as it was after it was checked. Whoever writes into it, or puts another in its
// place, makes it another.
type copyMade struct {
	mu   sync.Mutex
	info hostfs.FileInfo
}

func (c *copyMade) here(h *host.Host) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := h.Live.Files.Lstat(binaryFile)
	return err == nil && now == c.info
}

func (c *copyMade) note(h *host.Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info, _ = h.Live.Files.Lstat(binaryFile) // where that fails nothing is like it
}

// copySelf puts this binary where the undo finds it whatever becomes of
// the package that brought it, and checks what was written.
func copySelf(ctx context.Context, h *host.Host) error {
	if copied.here(h) {
		return nil
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("open this program: %w", err)
	}
	defer self.Close() // only read from
	b := h.Files.Batch()
	defer b.Discard()
	to, err := b.Create(binaryFile, hostfs.FileSpec{Mode: 0o700})
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	// Without its WriteTo, which asks for 32 KiB at a time.
	if _, err := io.CopyBuffer(to, struct{ io.Reader }{self}, make([]byte, 1<<20)); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	if err := errors.Join(to.Close(), b.Commit(ctx)); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	want := to.Sum()
	if got, err := h.Live.Files.Sum(binaryFile); err != nil || got != want {
		return errors.Join(fmt.Errorf("copy this program: %s does not hold what was written", binaryFile), err)
	}
	copied.note(h)
	return nil
}
