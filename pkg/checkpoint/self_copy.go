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

// copied is the state of the last copy that this process made, after it was checked. The running
// program does not change while the process lives. A copy that another program wrote to or replaced
// has another state.
var copied atomic.Pointer[hostfs.FileInfo]

// copySelf copies this program to a place where the undo finds it, even if a package removes or
// replaces the original. It verifies the copy.
func copySelf(ctx context.Context, h *host.Host) error {
	if now, err := h.Live.Files.Lstat(binaryFile); err == nil && copied.Load() != nil && now == *copied.Load() {
		return nil
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("open this program: %w", err)
	}
	defer self.Close() // only for reading
	b := h.Files.Batch()
	defer b.Discard()
	to, err := b.Create(binaryFile, hostfs.FileSpec{Mode: 0o700})
	if err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	// Without its WriteTo, which reads 32 KiB at a time.
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
