package checkpoint

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// Take captures in memory the state of everything that a change names. It writes nothing, except
// that large files get a second name, which [Checkpoint.Drop] removes. If an earlier change is
// watched, this change is watched for the rest of that time.
func Take(ctx context.Context, h *host.Host, change Change, s Settings) (*Checkpoint, error) {
	s.Window = cmp.Or(s.Window, agentfile.DefaultProbeWindow)
	boot, err := host.BootID(h.Live.Files)
	if err != nil {
		return nil, &RefusedError{err}
	}
	j := &Journal{Version: journalVersion, Boot: boot,
		Machine: host.MachineID(h.Live.Files), Process: host.Self(), Taken: host.Uptime(),
		Generation: change.Generation, Digest: change.Digest, Window: s.Window, Before: change.Before}
	w, err := watchHead(h.Live.Files)
	if err != nil {
		return nil, &RefusedError{err}
	}
	if w == nil || w.over(h.Live.Files) || change.Digest == "" {
		if err := EndWatch(ctx, h); err != nil {
			return nil, &RefusedError{err}
		}
	} else {
		j.WatchUS, j.Copies = w.UntilUS, remains(h.Live.Files).Copies
	}
	c := &Checkpoint{host: h, settings: s, journal: j, change: change, watched: len(j.Copies)}
	if err := c.capture(ctx); err != nil {
		return nil, &RefusedError{err}
	}
	c.compared = j.compare(h, s)
	c.compared.OwnPods, c.compared.Pods, c.compared.Named = change.OwnPods, change.Pods, routesOf(change)
	return c, nil
}

// capture captures the state before the change, and saves large files. After an error the next pass
// removes what capture saved.
func (c *Checkpoint) capture(ctx context.Context) (err error) {
	h, j := c.host, c.journal
	of := undo.Capture{Host: h, Log: &j.Log, Dir: Dir, Copies: j.Copies, Twin: firstboot.LargeName,
		Own: c.change.OwnLinks}
	// the undo also takes back an earlier change that is watched
	if c.programs, err = of.Take(ctx, c.change.Keys, c.change.Tasks, j.WatchUS > 0); err != nil {
		return err
	}
	j.Copies = of.Copies
	j.Window = max(j.Window, j.naming()) // also for the timer, and for the process that probes after the undo
	if _, err := j.encode(); err != nil || len(j.Copies) == 0 {
		return err
	}
	if err := h.Files.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	if err := undo.Save(ctx, h, scaffoldFile, j.scaffold); err != nil {
		return err
	}
	return of.SaveFiles(ctx)
}

// routesOf returns the destinations of the routes that a change names.
func routesOf(change Change) (named []netip.Prefix) {
	for _, t := range change.Tasks {
		if r, is := t.(tasks.Route); is {
			named = append(named, r.Canonical().Dst)
		}
	}
	return named
}

// Drop removes a checkpoint that was never armed.
func (c *Checkpoint) Drop(ctx context.Context) error {
	if len(c.journal.Copies) == c.watched {
		return nil
	}
	return c.abandon(ctx)
}
