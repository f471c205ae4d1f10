package tasks

import (
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/watch"
)

// The values of the table's columns.

// onUndo says what becomes of a kind's change when a checkpoint is undone.
type onUndo int

const (
	undoKeys       onUndo = iota + 1 // each key comes back as its own row says
	staysAfterUndo                   // the change stays
)

// drift says whether spec.drift may name a kind of keys.
type drift int

const (
	allModes drift = iota + 1 // repair, report and ignore
	noModes                   // an action, or a wait: nothing that could drift
)

// disk says where on disk keys of a kind are.
type disk struct {
	file func(name string) string   // the file that a key is or is in; "" if none
	dirs func(v host.View) []string // directories besides the file's whose time changes with a key
}

var (
	notOnDisk = disk{noFile, noDirs}
	onPath    = disk{itself, noDirs}
	tomlFile  = disk{beforeHash, noDirs}
	unitLinks = disk{noFile, UnitDirs} // systemd makes links
)

func noFile(string) string      { return "" }
func noDirs(host.View) []string { return nil }
func itself(name string) string { return name }
func beforeHash(name string) string {
	file, _, _ := strings.Cut(name, "#")
	return file
}

// lasts says whether a key outlives a boot.
type lasts func(t Task, name string) bool

var (
	outlivesBoot  lasts = func(Task, string) bool { return true }
	goneAfterBoot lasts = func(Task, string) bool { return false }
)

func pathLasts(_ Task, name string) bool {
	return !strings.HasPrefix(name, "/run/") && !strings.HasPrefix(name, "/tmp/") && !strings.HasPrefix(name, "/sys/")
}

// unitLasts says so of what is enabled or masked: links on disk.
func unitLasts(t Task, _ string) bool {
	state, ok := t.(UnitState)
	return !ok || state.Active == nil
}

// watchSource says who tells that a key changed.
type watchSource struct {
	// watch adds what a watcher has to watch for a key of a task.
	watch func(t Task, name string, i *watch.Interest)
	// notifies says that each change of the key comes as an event, while some sources cannot be
	// watched. If not, the key is polled every few seconds.
	notifies func(name string, lost map[watch.Source]error) bool
}

// unwatched is what only a pass looks at: actions, and what only waits.
var unwatched = watchSource{watchNothing, func(string, map[watch.Source]error) bool { return true }}

// watched is what a source notifies of, if it can be watched.
func watched(source watch.Source, add func(t Task, name string, i *watch.Interest)) watchSource {
	return watchSource{add, func(_ string, lost map[watch.Source]error) bool { return lost[source] == nil }}
}

// polled is what no source notifies of for sure.
func polled(add func(t Task, name string, i *watch.Interest)) watchSource {
	return watchSource{add, func(string, map[watch.Source]error) bool { return false }}
}

func sysctlNotifies(name string, lost map[watch.Source]error) bool {
	// One socket watches all of rtnetlink, and is unwatched under one name.
	return watch.SysctlNotifies(name) && lost[watch.Links] == nil
}

// forwardNotifies says so where all chains at the forward hook are those of nf_tables.
func forwardNotifies(_ string, lost map[watch.Source]error) bool {
	return watch.ForwardNotifies() && lost[watch.NFT] == nil
}

// of is for kinds whose keys do not say all that a watcher needs.
func of[T Task](add func(t T, i *watch.Interest)) func(Task, string, *watch.Interest) {
	return func(t Task, _ string, i *watch.Interest) {
		if own, ok := t.(T); ok {
			add(own, i)
		}
	}
}

func watchNothing(Task, string, *watch.Interest) {}

func watchPath(_ Task, name string, i *watch.Interest)   { i.Paths = append(i.Paths, name) }
func watchTOML(_ Task, name string, i *watch.Interest)   { i.Paths = append(i.Paths, beforeHash(name)) }
func watchSysctl(_ Task, name string, i *watch.Interest) { i.Sysctls = append(i.Sysctls, name) }
func watchModule(_ Task, name string, i *watch.Interest) { i.Modules = append(i.Modules, name) }
func watchMount(_ Task, name string, i *watch.Interest)  { i.Mounts = append(i.Mounts, name) }
func watchUnit(_ Task, name string, i *watch.Interest)   { i.Units = append(i.Units, name) }
func watchLink(_ Task, name string, i *watch.Interest)   { i.Links = append(i.Links, name) }
func watchForward(_ Task, _ string, i *watch.Interest)   { i.Forward = true }
func watchRoute(t Route, i *watch.Interest)              { i.Routes = append(i.Routes, t.Canonical()) }
func watchRule(t Rule, i *watch.Interest)                { i.Rules = append(i.Rules, t.Canonical()) }
func watchAddress(t Address, i *watch.Interest) {
	i.Addresses = append(i.Addresses, t.Prefix.Addr())
	i.Links = append(i.Links, t.Link)
}
func watchTable(t Table, i *watch.Interest) {
	i.Tables = append(i.Tables, firewall.TableName{Family: t.Family, Name: t.Name})
}
func watchConf(t WaitConf, i *watch.Interest) { i.Lists = append(append(i.Lists, t.Dir), t.BinDirs...) }

// removal says in which order keys of a kind go.
type removal struct {
	// above lists the keys that go after a key: a directory after what is in it.
	above func(name string) []graph.Key
	// rest says that the other keys of the task go after it, too.
	rest bool
	// pods says that packets of pods need it: it stays while they use a link of ours, and a switch
	// of networks makes it when the old network is gone.
	pods bool
	// missing says that what was absent before is ours although a prune does not take it away.
	missing bool
}

var (
	anyOrder   = removal{none, false, false, false}
	belowFirst = removal{directories, false, false, false}
	afterPods  = removal{none, false, true, false}
	untilBoot  = removal{none, false, false, true}
	// unmounted goes before its unit's file, and the directory that it is mounted on.
	unmounted = removal{itsDirectory, true, false, true}
)

func none(string) []graph.Key { return nil }

func directories(name string) (out []graph.Key) {
	for up, ok := graph.PathParent(FileKey(name)); ok; up, ok = graph.PathParent(up) {
		out = append(out, up)
	}
	return out
}

func itsDirectory(name string) []graph.Key { return []graph.Key{FileKey(name)} }

// costs says what it may interrupt that a key of a kind goes or comes back.
type costs struct {
	// back is what it means for the node's own packets that a key goes (to is "") or has again what
	// it had: whatever was there meanwhile, the node may be reached by it.
	back func(name, to string) Disruption
	gone Class // what it costs pods that a key goes
}

var costless = costs{func(string, string) Disruption { return NoDisruption }, ClassLive}

func cutsOff(string, string) Disruption { return MayCutOff }

// linkBack: a link that goes has no address any more.
func linkBack(_, to string) Disruption {
	if to != "" {
		return MayCutOff
	}
	return NoDisruption
}

func sysctlBack(name, to string) Disruption {
	return sysctlDisruption(name, strings.TrimPrefix(to, "="))
}
func unitBack(name, _ string) Disruption { return disturbs(name, NoDisruption) }

func pathBack(name, _ string) Disruption {
	if NetworkFile(name) {
		return MayCutOff
	}
	return NoDisruption
}

// Before is what a checkpoint takes down of keys before they change, so that an undo brings them
// back. Addresses, routes and rules as a whole it has anyway.
type Before struct {
	Files     []string
	Sysctls   []string
	Links     []string // that go if they were not there
	Addresses []string // LINK/PREFIX; likewise
	Tables    []string // FAMILY/NAME
	Forward   []string // links for which rules go again
	Units     []string
	Effects   []string // that are done again
	Own       []OwnKey // of kinds that bring their keys back themselves
}

// OwnKey is a key with the task that looks after it.
type OwnKey struct {
	Key  graph.Key
	Task Task
}

func undoPath(_ Task, name string, b *Before)    { b.Files = append(b.Files, name) }
func undoTOML(_ Task, name string, b *Before)    { b.Files = append(b.Files, beforeHash(name)) }
func undoSysctl(_ Task, name string, b *Before)  { b.Sysctls = append(b.Sysctls, name) }
func undoLink(_ Task, name string, b *Before)    { b.Links = append(b.Links, name) }
func undoTable(_ Task, name string, b *Before)   { b.Tables = append(b.Tables, name) }
func undoForward(_ Task, name string, b *Before) { b.Forward = append(b.Forward, name) }
func undoUnit(_ Task, name string, b *Before)    { b.Units = append(b.Units, name) }
func undoMount(_ Task, name string, b *Before)   { b.Units = append(b.Units, MountUnit(name)) }
func undoAddress(_ Task, name string, b *Before) { b.Addresses = append(b.Addresses, name) }
func undoEffect(_ Task, name string, b *Before)  { b.Effects = append(b.Effects, name) }

// undoNetwork is for what the state of the network as a whole brings back.
func undoNetwork(Task, string, *Before) {}

// undoNone is for what stays as the change made it, or was never changed.
func undoNone(Task, string, *Before) {}

// restorable is a task that brings its keys back itself.
type restorable interface {
	Task
	Restorer
}

// undoItself is for kinds that bring their keys back themselves, with what the ledger asks of them
// too: [Restorer]. A key that was absent goes again.
func undoItself[T restorable](t Task, name string, b *Before) {
	own, ok := t.(T)
	if !ok {
		return
	}
	for _, key := range own.Owns() {
		if key.Name() == name {
			b.Own = append(b.Own, OwnKey{key, own})
		}
	}
}

func byName(name string) string      { return name }
func linkCommand(name string) string { return "link " + name }

// addressCommand is of LINK/PREFIX.
func addressCommand(name string) string { return strings.Replace(name, "/", " ", 1) }

// routeCommand is of TABLE/PREFIX.
func routeCommand(name string) string {
	_, prefix, _ := strings.Cut(name, "/")
	return "route " + prefix
}

func tableCommand(name string) string { return "nft " + path.Base(name) }

// only is the row of keys of tasks that are not recorded.
func only(name string, w watchSource, r removal) *KeyKind {
	return &KeyKind{name, notOnDisk, goneAfterBoot, w, r, costless, undoNone, noModes, byName}
}
