package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// own makes a kind capture the state of its key.
func (c *Capture) own(ctx context.Context, own tasks.OwnKey) error {
	keeper, ok := tasks.StateReaderOf(own.Task, own.Key).(tasks.Restorer)
	if !ok {
		return fmt.Errorf("%T cannot restore it", own.Task)
	}
	was, err := keeper.Baseline(ctx, c.Host.Live.View())
	if errors.Is(err, host.ErrNoLiveState) {
		return nil // the change does not touch it either
	}
	if err != nil {
		return err
	}
	if was.Lost != "" {
		return fmt.Errorf("it could not be restored: %s", was.Lost)
	}
	task, contents, err := tasks.Record(own.Task)
	if err != nil {
		return err
	}
	kept := Own{Key: own.Key, Task: task, Was: was, Content: was.Content}
	for _, of := range contents {
		content, err := of.Bytes()
		if err != nil {
			return err
		}
		kept.Contents = append(kept.Contents, content)
	}
	c.Log.Own = append(c.Log.Own, kept)
	return nil
}

// Own makes each kind restore its keys. After a reboot it does not restore keys that a boot
// removes.
func (r *Reversal) Own(ctx context.Context) error {
	var errs []error
	for _, own := range r.Log.Own {
		if err := own.restore(ctx, r.Host, r.Booted); err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", own.Key, err))
		}
	}
	return errors.Join(errs...)
}

func (o Own) restore(ctx context.Context, h *host.Host, booted bool) error {
	task, err := tasks.Rebuild(o.Task, func(sum blob.Digest) ([]byte, error) {
		for i, have := range o.Task.Blobs {
			if have == sum && i < len(o.Contents) {
				return o.Contents[i], nil
			}
		}
		return nil, fmt.Errorf("the checkpoint has no content %s", sum)
	})
	if err != nil || booted && tasks.GoneAfterBoot(task, o.Key) {
		return err
	}
	keeper, ok := tasks.StateReaderOf(task, o.Key).(tasks.Restorer)
	if !ok {
		return fmt.Errorf("%T cannot", task)
	}
	was := o.Was
	was.Content = o.Content
	if right, err := keeper.Restored(ctx, h.Live.View(), was); err != nil || right {
		return err
	}
	if remover, ok := keeper.(tasks.Remover); ok && was.Live == "" {
		return remover.Remove(ctx, h)
	}
	return keeper.Restore(ctx, h, was)
}
