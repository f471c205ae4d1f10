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

// fileEvery is the least time between two writings of [StatusFile]. What comes between them is
// written once, with what came last.
const fileEvery = 2 * time.Second

// File keeps the status in [StatusFile], for who comes when no daemon answers: it is there from the
// first second of the daemon's life, and after it. It is written where something but times changed,
// and lies on a tmpfs: a node on which nothing happens writes nothing.
type File struct {
	Latest
	Host host.Options
	GID  int // of those who may read it; below 0: root alone
	Log  *zap.Logger
}

// Run writes until ctx ends, and then the last status once more. A file that cannot be written is
// said once, and tried again.
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
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	w, err := host.OpenFileWriter(f.Host)
	if err != nil {
		return err
	}
	defer w.Close() // every write was checked where it was made
	mode, data := fs.FileMode(0o600), append(data, '\n')
	if f.GID >= 0 {
		return w.WriteFileFor(context.Background(), StatusFile, data, 0o640, f.GID)
	}
	return w.WriteFile(context.Background(), StatusFile, data, mode)
}

// ReadStatusFile is the status that a daemon left. [host.ErrNotExist]: none has published any since
// the boot; [fs.ErrPermission]: it is not for this user.
func ReadStatusFile(opt host.Options) (*report.Status, error) {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, err
	}
	defer files.Close() // only read from
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
	return s, nil
}
