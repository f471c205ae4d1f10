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

// A prune restores the file that was at a path before the agent came. That file belonged to
// somebody, and nobody wants any more what the documents had in its place. Other keys that were
// there before stay as the agent set them, because nobody says that their earlier state was right.
// A rollback says so: a node that is pinned to a revision restores, as a reset would, the keys that
// the revision did not have and that a later revision took.

// RestorationOf returns the task that restores what was at a key before the agent came.
func RestorationOf(r ledger.Reader, e ledger.Entry, k tasks.Restorer) (tasks.Restoration, error) {
	base := *e.Baseline
	if base.Blob != nil {
		var err error
		if base.Content, err = ledger.Blob(r, *base.Blob); err != nil {
			return tasks.Restoration{}, err
		}
	}
	meta := MetaOf(e)
	return tasks.Restoration{
		Meta: meta, Key: e.Key, Restorer: k, To: base,
		Disruption: tasks.RevertCosts(e.Key, base.Live, meta.Effects),
	}, nil
}

// takenLater reports whether a key that is not in the set was taken by a revision after the one
// that the node is pinned to. A key that the ledger still manages was taken by the set in force.
// For a released key, the kept revisions tell.
func (c *Transaction) takenLater(r ledger.Reader, e ledger.Entry) bool {
	if c.PinnedAt == 0 || !e.Released {
		return c.PinnedAt != 0
	}
	task := taskOf(c.Led, e)
	if task == nil {
		return false
	}
	if c.later == nil {
		all, _ := ledger.Revisions(r) // what a damaged revision took is unknown
		c.later = slices.DeleteFunc(all, func(rev ledger.Revision) bool { return rev.Number <= c.PinnedAt })
	}
	return slices.ContainsFunc(c.later, func(rev ledger.Revision) bool {
		return slices.ContainsFunc(rev.Tasks, task.Same)
	})
}

// giveBack plans to restore a key that a revision did not have, or a file that no document has any
// more. done means that nothing else is to be done about the key. live is the key's state on the
// host.
func (p *Removals) giveBack(ctx context.Context, v host.View, c *Transaction, e ledger.Entry, k tasks.StateReader,
	live string) (done bool, err error) {
	restorer, ok := k.(tasks.Restorer)
	if !ok || c.PinnedAt == 0 && e.Key.Kind() != tasks.KindFile || e.Mode != ledger.Found || e.Baseline == nil ||
		noBaseline(e) {
		return e.Released, nil
	}
	switch same, err := restorer.Restored(ctx, v, *e.Baseline); {
	case err != nil:
		return false, fmt.Errorf("check whether %s is as it was: %w", e.Key, err)
	case same:
		p.dropped = append(p.dropped, e.Key)
		return true, nil
	}
	back, err := RestorationOf(v.Files, e, restorer)
	why := staysInRollback(v, e.Key, taskOf(c.Led, e))
	switch {
	case why != "" && c.PinnedAt == 0: // it stays like all other keys that were there before
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
	if !e.Released { // otherwise the user was told already that it stays
		p.release(e, "warning", fmt.Sprintf("%s is not restored: %s", e.Key, why))
	}
	return true, nil
}

// noBaseline reports whether a sysctl did not exist before, because its link was created later.
func noBaseline(e ledger.Entry) bool {
	return e.Key.Kind() == tasks.KindSysctl && e.Baseline.Live == ""
}

// staysInRollback returns why a rollback does not restore a key's baseline, or "" if it does.
func staysInRollback(v host.View, key graph.Key, task *tasks.Recorded) string {
	confs, programs := model.CNIDirs(&config.Node{}, v.Facts)
	dirs := append([]string{confs, "/etc/cni/net.d", "/opt/cni/bin"}, programs...)
	var recorded struct{ Secret bool }
	kind := ""
	if task != nil {
		kind = task.Kind
		_ = json.Unmarshal(task.Params, &recorded) // kinds without this field have no secret
	}
	file := tasks.FileOf(key)
	in := func(dir string) bool { // "": the runtime names no directory
		return dir != "" && (file == dir || strings.HasPrefix(file, dir+"/"))
	}
	switch {
	case tasks.Shared(key):
		return "others may rely on it"
	case kind == tasks.KindArchive, slices.ContainsFunc(dirs, in):
		return "running pods may need it, and its baseline may no longer fit them"
	case kind == tasks.KindCertificates, recorded.Secret && token(file, v):
		return "it is renewed regularly, and its baseline may have expired"
	}
	return ""
}

// token reports whether Kubernetes' own programs read a secret file. The content of such a file is
// rotated. Other files are secret because of their mode (netplan's files, NetworkManager's
// keyfiles) or because units are.
func token(file string, v host.View) bool { return tasks.HarmlessPath(file, v.Facts) }

// tasksBack returns the restorations, in the order in which the keys were set.
func (p *Removals) tasksBack(c *Transaction) (list []tasks.Task) {
	for _, t := range p.back {
		needs := slices.Clone(c.Led.Entries()[t.Key].Needs)
		t.Requires = slices.DeleteFunc(needs, func(k graph.Key) bool { return !tasks.IsState(k) })
		list = append(list, t)
	}
	return list
}
