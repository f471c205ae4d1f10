package tasks

import (
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
)

// The functions by which other code reads the table of kinds.

// unknown is the row of keys without a kind: keys that a cleanup finds, and keys in the ledger of a
// newer agent.
var unknown = KeyKind{"",
	notOnDisk, goneAfterBoot, polled(watchNothing), anyOrder,
	costs{cutsOff, ClassLive}, undoItself[restorable], noModes, byName}

// rowOf returns the row of a key's kind.
func rowOf(key graph.Key) *KeyKind {
	name := key.Kind()
	for i := range kinds {
		if keys := kinds[i].keys; keys != nil && keys.name == name {
			return keys
		}
	}
	return &unknown
}

// InterestOf returns what a watcher must watch for a list of tasks: what they own, and what else
// they look at. The result says nothing about wanted values: after an event the daemon plans the
// tasks again. An event that names no task's key is handled by the next pass that looks at
// everything.
func InterestOf(list []Task) watch.Interest {
	var i watch.Interest
	for _, t := range list {
		for _, key := range t.Owns() {
			rowOf(key).watch.watch(t, key.Name(), &i)
		}
	}
	return i
}

// NeedsPolling reports whether a task's keys may change without an event, so that the daemon polls
// them: most sysctls, because a write in a container makes no event here; the tables of ip_tables,
// if there are any; and all keys whose source is in lost. Watched routes and addresses never need
// it.
func NeedsPolling(t Task, lost map[watch.Source]error) bool {
	return slices.ContainsFunc(t.Owns(), func(key graph.Key) bool {
		return !rowOf(key).watch.notifies(key.Name(), lost)
	})
}

// FileOf returns the file of a key, or the file that contains it; "": none.
func FileOf(key graph.Key) string { return rowOf(key).disk.file(key.Name()) }

// DirsOf returns the directories whose mtime changes with a change of the key.
func DirsOf(v host.View, key graph.Key) []string {
	dirs := rowOf(key).disk.dirs(v)
	if file := FileOf(key); file != "" {
		dirs = append(dirs, path.Dir(file))
	}
	return dirs
}

// GoneAfterBoot reports whether a key of a task does not stay over a boot.
func GoneAfterBoot(t Task, key graph.Key) bool { return !rowOf(key).lasts(t, key.Name()) }

// LostWithNeeds reports whether the task's key may be lost together with something that the task
// needs, as an address is lost with its link. Keys on disk are not lost so, and tasks that only
// wait have no state.
func LostWithNeeds(t Task) bool {
	key := t.Owns()[0]
	return MayDrift(key) && GoneAfterBoot(t, key)
}

// MayDrift reports whether a key is state of the host. Actions and waits are not.
func MayDrift(key graph.Key) bool { return rowOf(key).drift == allModes }

// GoAfter returns the keys that are removed only after a key. rest reports that the other keys of
// its task are removed after it, too.
func GoAfter(key graph.Key) (above []graph.Key, rest bool) {
	r := rowOf(key).removal
	return r.above(key.Name()), r.rest
}

// UsedByPods reports whether packets of pods need a key. Such a key stays while pods use a link of
// the agent, and a switch makes it after the old network is removed.
func UsedByPods(key graph.Key) bool { return rowOf(key).removal.pods }

// MayBeMissing reports whether a key that did not exist before its task belongs to the task from
// then on, also where no [Remover] removes it.
func MayBeMissing(key graph.Key) bool { return rowOf(key).removal.missing }

// DriftKinds returns the kinds of keys that spec.drift may name: those that are state. Effects are
// actions and not in it.
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

// CommandName returns a key as a command line names it.
func CommandName(key graph.Key) string { return rowOf(key).command(key.Name()) }

// StaysAfterUndo says that the undo of a checkpoint leaves what a task changed. Programs cut nobody
// off, and pods that came meanwhile may run them.
func StaysAfterUndo(t Task) bool { return t.row() == rowArchive }

// BeforeOf returns what an undo needs of a key that a task changes. t may be a removal, or nil
// where the task is unknown.
func BeforeOf(t Task, key graph.Key) (b Before) {
	rowOf(key).undo(ownerOf(t), key.Name(), &b)
	return b
}

// RunsPrograms reports whether a change of a task's key starts or stops programs whose work the
// agent does not know: units that the documents define or name. t may be nil.
func RunsPrograms(t Task, key graph.Key) bool {
	if key.Kind() == KindEffect {
		e := EffectOf(key)
		return ActsLate(e.Unit) && !networkUnits[e.Unit]
	}
	owner := ownerOf(t)
	return owner != nil && Anew(owner)
}

// ownerOf returns the task whose key a removal or restoration works on.
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

// StateReaderOf returns the reader for a key of a task; nil: there is none. Keys of paths need no
// task.
func StateReaderOf(t Task, key graph.Key) StateReader {
	if key.Kind() == KindFile {
		return anyPath(key.Name())
	}
	k, _ := t.(StateReader)
	return k
}
