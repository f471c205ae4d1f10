package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/host"
)

// A file that could not be written is written as soon as that is possible, and not only at the next
// change, which may come a week later. The line that keeps it: status_file.go, Run (!write).
func TestAStatusFileIsTriedAgain(t *testing.T) {
	root := t.TempDir()
	inTheWay := filepath.Join(root, Dir)
	if err := errors.Join(os.MkdirAll(filepath.Dir(inTheWay), 0o755), os.WriteFile(inTheWay, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan struct{})
		f := &File{Host: host.Options{Root: root}, GID: -1, Log: zap.New(core)}
		go func() { defer close(ended); f.Run(ctx) }()
		f.Observe(status("a"), nil)
		time.Sleep(time.Hour)
		if n := logs.FilterMessage("the status file is not written").Len(); n != 1 {
			t.Errorf("said %d times", n)
		}
		if err := os.Remove(inTheWay); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * fileEvery)
		if s, err := ReadStatusFile(f.Host); err != nil || s.Reason != "a" {
			t.Errorf("ReadStatusFile returns %+v, %v", s, err)
		}
		cancel(errors.New("the test ends"))
		<-ended
	})
}
