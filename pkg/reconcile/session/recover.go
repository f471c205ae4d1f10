package session

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
)

// Recover completes each set of files that a killed run left partly old and partly new. It needs
// neither store nor documents. It runs first: when the agent starts, and at boot before any program
// reads the files. If there is nothing to complete, it looks at one directory and takes no lock. It
// returns the number of sets that it completed.
func (s Session) Recover(ctx context.Context) (int, error) {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", s.Host.Root, err)
	}
	list, err := hostfs.Interrupted(files)
	if len(list) > 0 { // a later version of the agent may want other content in these files
		err = errors.Join(err, ledger.CheckFormat(files))
	}
	if err := files.Close(); err != nil {
		return 0, fmt.Errorf("close %s: %w", s.Host.Root, err)
	}
	if err != nil || len(list) == 0 {
		return 0, err
	}
	unlock, err := ipc.Lock(ctx, s.Host.Files(), ledger.LockFile, nil)
	if err != nil {
		return 0, err
	}
	defer unlock()
	opt := s.Host
	opt.Log = s.Log
	h, err := host.Open(ctx, opt)
	if err != nil {
		return 0, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // each write was synced and checked when it was made
	return hostfs.RecoverAtBoot(ctx, h.Files)
}

// RecoverFirst calls recover and only logs its error. The caller goes on, because the tasks of the
// files report what is wrong with them.
func RecoverFirst(ctx context.Context, log *zap.Logger, recover func(context.Context) (int, error)) {
	if _, err := recover(ctx); err != nil && log != nil {
		log.Warn("the files that a killed run had begun to write are not completed", zap.Error(err))
	}
}
