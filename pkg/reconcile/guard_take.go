package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/inbound"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// guard looks whether any change is not proved harmless, nor proved before. If so it keeps in mind
// how everything is that the pass changes, and returns the context of the run.
func (p Pass) guard(ctx context.Context, h *host.Host, r *run) (*guard, context.Context, error) {
	if p.ConfirmWithin == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(r.changes.ByKey)), unproved) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(r.removals.ByKey)), unproved) {
		return nil, ctx, nil
	}
	if err := p.mayAwait(h); err != nil {
		return nil, ctx, err
	}
	before, err := r.remember(p.Session().Maker())
	if err != nil {
		return nil, ctx, err
	}
	links, err := netdevs(ctx, h.Live.View(), r)
	if err != nil {
		return nil, ctx, err
	}
	trees, err := below(h.Live.View(), r)
	if err != nil {
		return nil, ctx, err
	}
	change := checkpoint.Change{Generation: r.desired.Snapshot.Generation, Digest: r.desired.Snapshot.Digest,
		Memory: before, Tasks: map[graph.Key]tasks.Task{},
		Watch: time.Duration(r.desired.Node.Update.Watch)}
	undoable(&change, r.graph, r.changes)
	undoable(&change, r.pruning.Graph, r.removals)
	change.Keys = slices.Concat(change.Keys, links, trees)
	if change.AtBoot, err = r.atBoot(); err != nil {
		return nil, ctx, err
	}
	change.OwnPods = !r.sw.Begins() && r.judged(h.Live.Facts)
	change.Reboot, change.Right, change.Pods = mayReboot(r.desired.Node), r.led.Head().Boot,
		desired.PodRanges(r.desired.Node)
	return p.take(ctx, h, r, change)
}

// take takes a checkpoint, where there is something to be cut off from.
func (p Pass) take(
	ctx context.Context, h *host.Host, r *run, change checkpoint.Change,
) (*guard, context.Context, error) {
	if !p.Host.Running() {
		return nil, ctx, nil
	}
	settings := p.Checkpoint
	settings.Log, settings.Record, settings.KeepsCopy = p.Log, revert.Recorder(r.led), p.Ready
	if settings.Inbound == nil {
		settings.Inbound = p.inbound(r)
	}
	point, err := checkpoint.Take(ctx, h, change, settings)
	if err != nil {
		return nil, ctx, err
	}
	r.custody.Around = checkpoint.Around
	g := &guard{point: point, all: p.ConfirmWithin > 0}
	ctx, g.end = context.WithCancelCause(ctx)
	return g, ctx, nil
}

// undoable adds the keys that change and that an undo brings back.
func undoable(to *checkpoint.Change, g *graph.Graph[tasks.Task], c *changes.Set) {
	for _, key := range slices.Sorted(maps.Keys(c.ByKey)) {
		t, _ := g.Find(key)
		if !undone(t, c.ByKey[key]) {
			continue
		}
		for _, it := range c.ByKey[key].Items {
			to.Keys = append(to.Keys, it.Key)
			to.Tasks[it.Key] = t
		}
	}
}

// judged says that pods of the agent's own can judge the network: that they are added by a conf,
// and are to it as pods of the API's are.
func (r *run) judged(f *host.Facts) bool {
	net, known := network.Of(r.desired.Node)
	byConf := func(t tasks.Task) bool {
		conf, is := t.(tasks.WaitConf)
		return is && conf.Network == net.Name
	}
	return known && model.Unjudged(net, r.desired.Node, f) == nil && slices.ContainsFunc(r.graph.Order(), byConf)
}

// netdevs are the links that systemd-networkd will make by files of the change. It does not remove
// what such a file made when the file goes: the undo does.
func netdevs(ctx context.Context, v host.View, r *run) (keys []graph.Key, err error) {
	for key := range r.changes.ByKey {
		t, _ := r.graph.Find(key)
		f, ok := t.(interface{ Netdev() (string, error) })
		if !ok {
			continue
		}
		name, err := f.Netdev()
		if err != nil {
			return nil, err
		}
		if _, err := v.Net.Link(ctx, name); name != "" && errors.Is(err, host.ErrNotExist) {
			keys = append(keys, tasks.LinkKey(name))
		}
	}
	return keys, nil
}

// heldBack says why the documents are not applied now, nil if they are.
func (p Pass) heldBack(r checkpoint.Reader, d *desired.State) error {
	if why := p.verdict(r, d); why != nil {
		return why
	}
	return nil
}

// refuseUnproved refuses what is not proved, where what holds the generation back came with it
// later: by a fact, or a hook that ran anew. The rest of what is in force is kept right. It is
// false where there is no rest, and of a generation that the node never took: half of one is no
// configuration.
func (r *run) refuseUnproved(h *host.Host, why error) (rest bool) {
	if good, err := ledger.ReadLastGood(h.Live.Files); err != nil || good == nil ||
		good.Digest != r.desired.Snapshot.Digest {
		return false
	}
	for _, c := range []*changes.Set{r.changes, r.removals} {
		for key, change := range c.ByKey {
			switch {
			case unproved(change):
				r.refused[key] = why
				delete(c.ByKey, key)
			case change.NotHere == "":
				rest = true
			}
		}
	}
	return rest
}

// notApplied is a plan of which nothing was done, or nothing is left.
func notApplied(p *report.Plan, why error) *report.Plan {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.State == report.Planned {
			s.State, s.Message = report.Stopped, "not applied: see the note"
		}
	}
	p.Notes = append(p.Notes, report.Note{Level: "warning", Text: why.Error()})
	total := p.Summary.Tasks
	p.Summary = report.Summary{}
	p.Finish(total)
	return p
}

// remember takes down what the ledger says of all that intend will write. What an undo leaves where
// it is, it leaves in the ledger too: members of archives.
func (r *run) remember(by string) (json.RawMessage, error) {
	head := r.led.Head()
	m := revert.Memory{By: by, Network: r.desired.Network(), Tasks: len(r.custody.Set.Order), Had: head.Network,
		Print: head.Print, Settled: head.Settled, Owed: r.led.Owed()}
	for _, t := range r.custody.Set.Order {
		change := r.changes.Get(t.Owns()[0])
		if change == nil || !undone(t, change) || !tasks.IsState(t.Owns()[0]) {
			continue
		}
		for _, key := range append(t.Owns(), r.custody.Parents(change)...) {
			one := revert.Remembered{Key: key}
			if e, known := r.led.Entries()[key]; known {
				one.Was = &e
			}
			m.Keys = append(m.Keys, one)
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says: %w", err)
	}
	return out, nil
}

// inbound has the node's peers knock on its ports for a checkpoint; nil where there is no API to
// ask them by. An API that gives none is nothing to mend: many have no account that may read Nodes.
// The connections are new ones: those that there are may have lived through the change.
func (p Pass) inbound(r *run) checkpoint.Knocks {
	if p.API == nil || r.desired == nil || r.desired.Node.Name == "" {
		return nil
	}
	node, api := r.desired.Node.Name, p.API.Alone()
	return func(
		ctx context.Context, ports []uint16, peers []string, done func(map[string][]string) bool,
	) (map[string][]string, error) {
		said, err := inbound.Ask(ctx, api, node, ports, peers, done)
		if err != nil && peers == nil {
			p.Log.Info("no peer knocks: that others reach the node is not proved", zap.Error(err))
			return nil, nil
		}
		return said, err
	}
}

// atBoot are the keys that changes of this pass make act at the next boot, with what the ledger
// says of them.
func (r *run) atBoot() (list []checkpoint.Await, err error) {
	for _, of := range []struct {
		graph   *graph.Graph[tasks.Task]
		changes *changes.Set
	}{{r.graph, r.changes}, {r.pruning.Graph, r.removals}} {
		for _, first := range slices.Sorted(maps.Keys(of.changes.ByKey)) {
			t, _ := of.graph.Find(first)
			c := of.changes.ByKey[first]
			if !undone(t, c) || c.Proof != tasks.Unproved {
				continue
			}
			for _, it := range c.Items {
				if list, err = r.addAtBoot(list, t, it.Key); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// addAtBoot adds a key, if anything of it acts at the next boot.
func (r *run) addAtBoot(list []checkpoint.Await, t tasks.Task, key graph.Key) ([]checkpoint.Await, error) {
	files, units := tasks.AwaitsBoot(t, key)
	if len(files)+len(units) == 0 {
		return list, nil
	}
	was := revert.Remembered{Key: key}
	if e, known := r.led.Entries()[key]; known {
		was.Was = &e
	}
	raw, err := json.Marshal(was)
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says of %s: %w", key, err)
	}
	return append(list, checkpoint.Await{Key: key, Files: files, Units: units, Memory: raw}), nil
}

// mayReboot says that the documents allow a reboot after a boot that failed.
func mayReboot(n *config.Node) bool { return n.Update.BootUndo == policy.BootUndoReboot }

// below are the paths in the directories that a switch takes away whole: an undo brings back what
// was in them, too.
func below(v host.View, r *run) (keys []graph.Key, err error) {
	for first, c := range r.changes.ByKey {
		if first.Kind() != tasks.KindCleanup {
			continue
		}
		for _, it := range c.Items {
			if it.Key.Kind() != tasks.KindFile {
				continue
			}
			if keys, err = walk(v, v.Files.Plain(), it.Key.Name(), keys); err != nil {
				return nil, fmt.Errorf("look at what the switch takes away: %w", err)
			}
		}
	}
	return keys, nil
}

// walk adds what is below a directory, a directory before what is in it. What is mounted there is
// nobody's file: a cgroup2 of Calico's or Cilium's has some that cannot be read. What is no
// directory any more when it is listed has nothing below it.
func walk(v host.View, at hostfs.Files, dir string, keys []graph.Key) ([]graph.Key, error) {
	info, err := at.Lstat(dir)
	if errors.Is(err, host.ErrNotExist) || err == nil && info.Type != hostfs.Directory {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	switch _, err := v.Kernel.Mounted(dir); {
	case err == nil:
		return keys, nil
	case !errors.Is(err, host.ErrNotExist) && !errors.Is(err, host.ErrNotHere):
		return nil, err
	}
	names, err := at.ReadDir(dir)
	if link := (*hostfs.LinkError)(nil); errors.As(err, &link) || errors.Is(err, host.ErrNotExist) ||
		errors.Is(err, syscall.ENOTDIR) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file := path.Join(dir, name)
		if keys, err = walk(v, at, file, append(keys, tasks.FileKey(file))); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
