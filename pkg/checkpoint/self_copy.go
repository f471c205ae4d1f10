package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// copied is the copy that this process made last, as it was after it was checked: what it is a copy
// of stays the same as long as the process lives. Whoever writes into it, or puts another in its
// place, makes it another.
var copied atomic.Pointer[hostfs.FileInfo]

// copySelf puts this binary where the undo finds it whatever becomes of
// the package that brought it, and checks what was written.
func copySelf(ctx context.Context, h *host.Host) error {
	if now, err := h.Live.Files.Lstat(binaryFile); err == nil && copied.Load() != nil && now == *copied.Load() {
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
	if _, err := io.CopyBuffer(to, struct{ io.Reader }{self}, make([]byte, 128<<10)); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	if err := errors.Join(to.Close(), b.Commit(ctx)); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	want := to.Sum()
	if got, err := h.Live.Files.Sum(binaryFile); err != nil || got != want {
		return errors.Join(fmt.Errorf("copy this program: %s does not hold what was written", binaryFile), err)
	}
	if made, err := h.Live.Files.Lstat(binaryFile); err == nil {
		copied.Store(&made)
	}
	return nil
}
