package tasks

import (
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
)

// What others ask of the table of kinds.

// unknown is what counts for keys of no kind: what a cleanup finds, and what the ledger of a newer
// agent has.
var unknown = KeyKind{"",
	notOnDisk, goneAfterBoot, polled(watchNothing), anyOrder,
	costs{cutsOff, ClassLive}, undoItself[restorable], noModes, byName}

// rowOf is the row of a key's kind.
func rowOf(key graph.Key) *KeyKind {
	name := key.Kind()
	for i := range kinds {
		if keys := kinds[i].keys; keys != nil && keys.name == name {
			return keys
		}
	}
	return &unknown
}

// InterestOf is what a watcher has to hear of for a list of tasks: what they own, and what they
// look at besides. Who is woken plans them; nothing here says what anything should be like. An
// event that no task hears of is found by the next pass that looks at everything.
func InterestOf(list []Task) watch.Interest {
	var i watch.Interest
	for _, t := range list {
		for _, key := range t.Owns() {
			rowOf(key).watch.watch(t, key.Name(), &i)
		}
	}
	return i
}

// NeedsPolling says that a task's keys may change without an event, so that they are polled: most
// sysctls, since a write in a container is no event here; the tables of ip_tables, if there are
// any; and whatever has a source that cannot be watched now. Watched routes and addresses never
// need it.
func NeedsPolling(t Task, lost map[watch.Source]error) bool {
	return slices.ContainsFunc(t.Owns(), func(key graph.Key) bool {
		return !rowOf(key).watch.notifies(key.Name(), lost)
	})
}

// FileOf is the file that a key is, or is in; "" if none.
func FileOf(key graph.Key) string { return rowOf(key).disk.file(key.Name()) }

// DirsOf are the directories whose time of change a change of the key moves.
func DirsOf(v host.View, key graph.Key) []string {
	dirs := rowOf(key).disk.dirs(v)
	if file := FileOf(key); file != "" {
		dirs = append(dirs, path.Dir(file))
	}
	return dirs
}

// GoneAfterBoot says that a key of a task is gone after a boot, whoever boots.
func GoneAfterBoot(t Task, key graph.Key) bool { return !rowOf(key).lasts(t, key.Name()) }

// LostWithNeeds says that what a task owns may be lost with what the task needs, as an address is
// with its link. What is on disk is not, and what only waits owns nothing.
func LostWithNeeds(t Task) bool {
	key := t.Owns()[0]
	return MayDrift(key) && GoneAfterBoot(t, key)
}

// MayDrift says that a key is state of the host. Actions, and what waits for others, are none.
func MayDrift(key graph.Key) bool { return rowOf(key).drift == allModes }

// GoAfter lists the keys that are removed only after a key; rest says that the other keys of its
// task are, too.
func GoAfter(key graph.Key) (above []graph.Key, rest bool) {
	r := rowOf(key).removal
	return r.above(key.Name()), r.rest
}

// UsedByPods says that packets of pods need what a key stands for. It stays while pods use a link
// of ours, and is made when a former network is gone.
func UsedByPods(key graph.Key) bool { return rowOf(key).removal.pods }

// MayBeMissing says that what is absent at a key before its task comes is the task's own from then
// on, also where no [Remover] takes it away.
func MayBeMissing(key graph.Key) bool { return rowOf(key).removal.missing }

// DriftKinds are the kinds of keys that are state: what spec.drift may name. Effects are actions,
// and have none.
func DriftKinds() []string {
	var out []string
	for i := range kinds {
		if keys := kinds[i].keys; keys != nil && keys.drift == allModes {
			out = append(out, keys.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CommandName is a key as a command line would name it.
func CommandName(key graph.Key) string { return rowOf(key).command(key.Name()) }

// StaysAfterUndo says that the undo of a checkpoint leaves what a task changed.
func StaysAfterUndo(t Task) bool { return kinds[t.row()].undo == staysAfterUndo }

// BeforeOf is what an undo needs of a key that a task changes. t may be a removal; nil where nobody
// knows the task.
func BeforeOf(t Task, key graph.Key) (b Before) {
	rowOf(key).undo(ownerOf(t), key.Name(), &b)
	return b
}

// RunsPrograms says that a change at a key of a task starts or stops programs of which nobody knows
// what they do: units that the documents bring or name. t may be nil.
func RunsPrograms(t Task, key graph.Key) bool {
	if key.Kind() == KindEffect {
		e := EffectOf(key)
		return ActsLate(e.Unit) && !networkUnits[e.Unit]
	}
	owner := ownerOf(t)
	return owner != nil && Anew(owner)
}

// ownerOf is the task that looks after what a removal or a restoration takes away or back.
func ownerOf(t Task) Task {
	var k StateReader
	switch t := t.(type) {
	case Removal:
		k = t.Remover
	case Restoration:
		k = t.Restorer
	default:
		return t
	}
	owner, _ := k.(Task)
	return owner
}

// StateReaderOf finds who looks after a key of a task; nil if nobody can. Keys of
// paths need no task.
func StateReaderOf(t Task, key graph.Key) StateReader {
	if key.Kind() == KindFile {
		return anyPath(key.Name())
	}
	k, _ := t.(StateReader)
	return k
}
