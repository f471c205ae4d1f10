package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/systemd"
)

// rehearseLimit is the time for a program of 40 MB on a slow disk to start and to read one file.
const rehearseLimit = 30 * time.Second

// rehearse returns the program that runs the undo if this process is gone. That is the copy, or the
// installed program if the copy cannot be run, for example on a /var that is mounted noexec. It
// makes systemd run `undo --check` as the timer would run the undo: the program starts and reads
// the journal. If neither program can do that, no change may be made. Without systemd only this
// process can undo, and there is nothing to rehearse.
func rehearse(ctx context.Context, h *host.Host) (program string, err error) {
	var errs []error
	installed := installedProgram(h)
	for _, program := range []string{binaryFile, installed} {
		err := h.Units.TryService(ctx, checkName, "Netwright: test that an undo can run", systemd.Undo, rehearseLimit,
			program, "undo", "--check")
		if err == nil || errors.Is(err, host.ErrNoLiveState) {
			return program, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("nothing could undo the change if this process died: allow %s or %s to run (mount "+
		"options, security policy): %w", binaryFile, installed, errors.Join(errs...))
}

// CheckUndo returns an error unless an undo could run now. [rehearse] makes systemd run it.
func CheckUndo(r host.FileReader) error {
	j, err := Pending(r)
	if err == nil && j == nil {
		err = errors.New("there is nothing to undo")
	}
	return err
}
