package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/systemd"
)

// rehearseLimit is for a program of 40 MB that comes from a slow disk and reads one file.
const rehearseLimit = 30 * time.Second

// rehearse says which program undoes when this process is gone: the copy, or the installed one
// where the copy cannot be run, as on a /var that is mounted noexec. It has systemd run `undo
// --check` as the timer will run the undo: the program starts, and reads the journal that is armed.
// Where neither does, no change may be made. Without systemd only this process undoes, and there is
// nothing to rehearse.
func rehearse(ctx context.Context, h *host.Host) (program string, err error) {
	var errs []error
	installed := installedProgram(h)
	for _, program := range []string{binaryFile, installed} {
		err := h.Units.TryService(ctx, checkName, "Netwright: see that an undo can be run", systemd.Undo, rehearseLimit,
			program, "undo", "--check")
		if err == nil || errors.Is(err, host.ErrNoLiveState) {
			return program, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("nothing could take the change back if this process died: let %s or %s be run (mount "+
		"options, security policy): %w", binaryFile, installed, errors.Join(errs...))
}

// Check says whether an undo could be made now: it is what [rehearse] has run.
func Check(r host.FileReader) error {
	j, err := Pending(r)
	if err == nil && j == nil {
		err = errors.New("there is nothing to undo")
	}
	return err
}
