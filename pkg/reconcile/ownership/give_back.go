package ownership

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/tasks"
)

// A prune gives back the file that was at a path before the agent came: it was somebody's, and what
// the documents had in its place is nobody's any more. What else was there before stays as the
// agent made it: nobody says that it was right before. A rollback says so. A node that is held at a
// revision gives back, as a reset would, what the revision did not have and a later one took.

// RestorationOf makes the task that brings back what was at a key before the agent came.
func RestorationOf(r ledger.Reader, e ledger.Entry, k tasks.Restorer) (tasks.Restoration, error) {
	base := *e.Baseline
	if base.Blob != nil {
		var err error
		if base.Content, err = ledger.Blob(r, *base.Blob); err != nil {
			return tasks.Restoration{}, err
		}
	}
	meta := tasks.Meta{From: OriginOf(e), Effects: Without(e.Effects, tasks.DaemonReload)}
	return tasks.Restoration{
		Meta: meta, Key: e.Key, Restorer: k, To: base,
		Disruption: tasks.RevertCosts(e.Key, base.Live, meta.Effects),
	}, nil
}

// takenLater says of a key which the set has not that a revision after the one that the node is
// held at took it. What the ledger looks after still, the set in force took. Of what was let go of,
// the kept revisions tell.
func (c *Transaction) takenLater(r ledger.Reader, e ledger.Entry) bool {
	if c.PinnedAt == 0 || !e.Released {
		return c.PinnedAt != 0
	}
	task := taskOf(c.Led, e)
	if task == nil {
		return false
	}
	if c.later == nil {
		all, _ := ledger.Revisions(r) // of a damaged one nobody knows what it took
		c.later = slices.DeleteFunc(all, func(rev ledger.Revision) bool { return rev.Number <= c.PinnedAt })
	}
	return slices.ContainsFunc(c.later, func(rev ledger.Revision) bool {
		return slices.ContainsFunc(rev.Tasks, task.Same)
	})
}

// giveBack has a key brought back that a revision did not have, or a file that no document has any
// more. It says whether that is all that becomes of the key. live is what the host has there.
func (p *Removals) giveBack(ctx context.Context, v host.View, c *Transaction, e ledger.Entry, k tasks.StateReader,
	live string) (done bool, err error) {
	restorer, ok := k.(tasks.Restorer)
	if !ok || c.PinnedAt == 0 && e.Key.Kind() != tasks.KindFile || e.Mode != ledger.Found || e.Baseline == nil ||
		noBaseline(e) {
		return e.Released, nil
	}
	switch same, err := restorer.Restored(ctx, v, *e.Baseline); {
	case err != nil:
		return false, fmt.Errorf("look whether %s is as it was: %w", e.Key, err)
	case same:
		p.dropped = append(p.dropped, e.Key)
		return true, nil
	}
	back, err := RestorationOf(v.Files, e, restorer)
	why := staysInRollback(v, e.Key, taskOf(c.Led, e))
	switch {
	case why != "" && c.PinnedAt == 0: // it stays, as all else that was there before
		return false, nil
	case why != "":
	case c.Altered(ctx, v, e, live):
		why = "somebody changed it since netwright did"
	case e.Baseline.Lost != "":
		why = e.Baseline.Lost
	case err != nil:
		why = err.Error()
	default:
		p.back = append(p.back, back)
		return true, nil
	}
	if !e.Released { // else somebody heard that it stays
		p.release(e, "warning", fmt.Sprintf("%s is not brought back: %s", e.Key, why))
	}
	return true, nil
}

// noBaseline says of a sysctl that it was not there before: its link came later.
func noBaseline(e ledger.Entry) bool {
	return e.Key.Kind() == tasks.KindSysctl && e.Baseline.Live == ""
}

// staysInRollback says why a rollback leaves a key although there was something else before; "": it
// does not.
func staysInRollback(v host.View, key graph.Key, task *tasks.Recorded) string {
	confs, programs := model.CNIDirs(&config.Node{}, v.Facts)
	dirs := append([]string{confs, "/etc/cni/net.d", "/opt/cni/bin"}, programs...)
	var recorded struct{ Secret bool }
	kind := ""
	if task != nil {
		kind = task.Kind
		_ = json.Unmarshal(task.Params, &recorded) // kinds without the field have no secret
	}
	file := tasks.FileOf(key)
	in := func(dir string) bool { // "": the runtime names none
		return dir != "" && (file == dir || strings.HasPrefix(file, dir+"/"))
	}
	switch {
	case tasks.Shared(key):
		return "others may rely on it"
	case kind == tasks.KindArchive, slices.ContainsFunc(dirs, in):
		return "pods that live may need it, and what was in its place may no longer fit them"
	case kind == tasks.KindCertificates, recorded.Secret && token(file, v):
		return "it is renewed, and what was in its place may be good for nothing by now"
	}
	return ""
}

// token says of a secret file that Kubernetes' own programs read it: what is in it is rotated.
// Other files are secret by their mode (netplan's, keyfiles of NetworkManager) or as units are.
func token(file string, v host.View) bool { return tasks.HarmlessPath(file, v.Facts) }

// tasksBack are the restorations, in the order in which things were set.
func (p *Removals) tasksBack(c *Transaction) (list []tasks.Task) {
	for _, t := range p.back {
		needs := slices.Clone(c.Led.Entries()[t.Key].Needs)
		t.Requires = slices.DeleteFunc(needs, func(k graph.Key) bool { return !tasks.IsState(k) })
		list = append(list, t)
	}
	return list
}
