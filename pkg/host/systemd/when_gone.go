package systemd

import (
	"context"
	"errors"
	"io"
)

// StartWhenGone has systemd start the service of a timer of [Writer.StartTimer] as soon as this
// process is gone, however it went. It makes a file and holds it open for writing, and systemd
// notices when it is closed, but not while it reloads its units: then the timer is left. Whoever
// closes the file calls StopTimer first. It fails where systemd makes no transient path unit.
func (w *Writer) StartWhenGone(ctx context.Context, name, description, file string) (io.Closer, error) {
	f, err := w.openLock(file)
	if err != nil {
		return nil, err
	}
	path := transient(description, false, property("Paths", []struct{ Kind, Path string }{{"PathChanged", file}}))
	if err := w.manage(ctx, "start path "+name, name, "StartTransientUnit", name+".path", "replace", path,
		[]auxUnit{}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
