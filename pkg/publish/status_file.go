package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
)

// fileEvery is the shortest time between two writes of [StatusFile]. If several statuses come
// between them, only the last one is written.
const fileEvery = 2 * time.Second

// File writes the status to [StatusFile], for readers when no daemon answers. The file exists from
// the daemon's start, and stays after its end. File writes only where more than times changed, and
// the file is on a tmpfs: on a node without events nothing is written.
type File struct {
	Latest
	Host host.Options
	GID  int // the group that may read it; below 0: only root
	Log  *zap.Logger
}

// Run writes until ctx ends, and then the last status once more. An error of a write is logged
// once, and the write is tried again.
func (f *File) Run(ctx context.Context) {
	said := ""
	write := func(s *report.Status) bool {
		err := f.write(s)
		if err == nil {
			said = ""
		} else if said != err.Error() {
			said = err.Error()
			f.Log.Warn("the status file is not written", zap.Error(err))
		}
		return err == nil
	}
	for {
		news, ok := f.Next(ctx)
		if !ok {
			if last := f.Now(); last != nil {
				write(last)
			}
			return
		}
		for !write(news.Status) && ctx.Err() == nil {
			host.Sleep(ctx, fileEvery)
			if newer, some := f.take(); some {
				news = newer
			}
		}
		host.Sleep(ctx, fileEvery)
	}
}

func (f *File) write(s *report.Status) error {
	data, err := json.Marshal(s.ByClock())
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	w, err := host.OpenFileWriter(f.Host)
	if err != nil {
		return err
	}
	defer w.Close() // WriteFile has checked the data
	mode, data := fs.FileMode(0o600), append(data, '\n')
	if f.GID >= 0 {
		return w.WriteFileFor(context.Background(), StatusFile, data, 0o640, f.GID)
	}
	return w.WriteFile(context.Background(), StatusFile, data, mode)
}

// ReadStatusFile reads the status that a daemon left. [host.ErrNotExist]: no daemon published a
// status since the boot; [fs.ErrPermission]: this user may not read it.
func ReadStatusFile(opt host.Options) (*report.Status, error) {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, err
	}
	defer files.Close() // it is only read
	data, err := files.ReadFile(StatusFile)
	if err != nil {
		return nil, err
	}
	s := &report.Status{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w: it is written anew when the daemon starts", StatusFile, err)
	}
	if s.Version != report.StatusVersion {
		return nil, fmt.Errorf("read %s: %w: it is of the form %q, and this command knows %q: use a command of the "+
			"daemon's version", StatusFile, errors.ErrUnsupported, s.Version, report.StatusVersion)
	}
	return s.ReadAt(time.Now(), host.Uptime()), nil
}
