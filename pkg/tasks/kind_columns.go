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

// drift says whether spec.drift may name a kind of keys.
type drift int

const (
	allModes drift = iota + 1 // repair, report and ignore
	noModes                   // for actions and waits, which cannot drift
)

// disk says where keys of a kind are on disk.
type disk struct {
	file func(name string) string   // the file of a key, or the file that contains it; "": none
	dirs func(v host.View) []string // other directories whose mtime changes with a key
}

var (
	notOnDisk = disk{noFile, noDirs}
	onPath    = disk{itself, noDirs}
	tomlFile  = disk{beforeHash, noDirs}
	unitLinks = disk{noFile, UnitDirs} // systemd makes symlinks
)

func noFile(string) string      { return "" }
func noDirs(host.View) []string { return nil }
func itself(name string) string { return name }
func beforeHash(name string) string {
	file, _, _ := strings.Cut(name, "#")
	return file
}

// lasts says whether a key stays over a boot.
type lasts func(t Task, name string) bool

var (
	outlivesBoot  lasts = func(Task, string) bool { return true }
	goneAfterBoot lasts = func(Task, string) bool { return false }
)

func pathLasts(_ Task, name string) bool {
	return !strings.HasPrefix(name, "/run/") && !strings.HasPrefix(name, "/tmp/") && !strings.HasPrefix(name, "/sys/")
}

// unitLasts is true for the enabled or masked state of a unit, which is symlinks on disk.
func unitLasts(t Task, _ string) bool {
	state, ok := t.(UnitState)
	return !ok || state.Active == nil
}

// watchSource says which source reports changes of a key.
type watchSource struct {
	// watch adds to a watcher's interest what it must watch for a key of a task.
	watch func(t Task, name string, i *watch.Interest)
	// notifies reports whether each change of the key comes as an event, although the sources in
	// lost cannot be watched. If not, the daemon polls the key every few seconds.
	notifies func(name string, lost map[watch.Source]error) bool
}

// unwatched is for keys that only a pass checks: actions and waits.
var unwatched = watchSource{watchNothing, func(string, map[watch.Source]error) bool { return true }}

// watched is for keys whose changes a source reports, where it can be watched.
func watched(source watch.Source, add func(t Task, name string, i *watch.Interest)) watchSource {
	return watchSource{add, func(_ string, lost map[watch.Source]error) bool { return lost[source] == nil }}
}

// polled is for keys whose changes no source reports reliably.
func polled(add func(t Task, name string, i *watch.Interest)) watchSource {
	return watchSource{add, func(string, map[watch.Source]error) bool { return false }}
}

func sysctlNotifies(name string, lost map[watch.Source]error) bool {
	// One socket watches all of rtnetlink. Where it is lost, lost has the name Links.
	return watch.SysctlNotifies(name) && lost[watch.Links] == nil
}

// forwardNotifies is true where all chains at the forward hook are chains of nf_tables.
func forwardNotifies(_ string, lost map[watch.Source]error) bool {
	return watch.ForwardNotifies() && lost[watch.NFT] == nil
}

// of is for kinds whose keys do not contain all that a watcher needs.
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

// removal says in which order keys of a kind are removed.
type removal struct {
	// above returns the keys that are removed after a key: a directory after its contents.
	above func(name string) []graph.Key
	// rest says that the other keys of the task are removed after it, too.
	rest bool
	// pods says that packets of pods need it: it stays while pods use a link of the agent, and a
	// switch of networks makes it after the old network is removed.
	pods bool
	// missing says that a key that did not exist before is the agent's, although a prune does not
	// remove it.
	missing bool
}

var (
	anyOrder   = removal{none, false, false, false}
	belowFirst = removal{directories, false, false, false}
	afterPods  = removal{none, false, true, false}
	untilBoot  = removal{none, false, false, true}
	// unmounted is removed before its unit's file and before the directory that it is mounted on.
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

// costs says what the removal or restoration of a key may interrupt.
type costs struct {
	// back returns what it means for the node's own packets that a key is removed (to is "") or
	// gets its earlier value to back. The node may be reached by the value that it has now.
	back func(name, to string) Disruption
	gone Class // what the removal of a key costs pods
}

var costless = costs{func(string, string) Disruption { return NoDisruption }, ClassLive}

func cutsOff(string, string) Disruption { return MayCutOff }

// linkBack is for links: a link that is removed has no address any more.
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

// Before is what a checkpoint records of keys before they change, so that an undo can restore them.
// It records all addresses, routes and rules in any case.
type Before struct {
	Files     []string
	Sysctls   []string
	Links     []string // removed if they did not exist
	Addresses []string // LINK/PREFIX; removed if they did not exist
	Tables    []string // FAMILY/NAME
	Forward   []string // links whose forward rules are removed
	Units     []string
	Effects   []string // that run again
	Own       []OwnKey // of kinds that restore their keys themselves
}

// OwnKey is a key with the task that restores it.
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

// undoNetwork is for keys that the undo restores with the recorded state of the whole network.
func undoNetwork(Task, string, *Before) {}

// undoNone is for keys that an undo leaves as they are.
func undoNone(Task, string, *Before) {}

// restorable is a task that restores its keys itself.
type restorable interface {
	Task
	Restorer
}

// undoItself is for kinds that restore their keys themselves, with the methods that the ledger uses
// too: [Restorer]. A key that did not exist is removed.
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

// addressCommand takes a name LINK/PREFIX.
func addressCommand(name string) string { return strings.Replace(name, "/", " ", 1) }

// routeCommand takes a name TABLE/PREFIX.
func routeCommand(name string) string {
	_, prefix, _ := strings.Cut(name, "/")
	return "route " + prefix
}

func tableCommand(name string) string { return "nft " + path.Base(name) }

// only returns the row for the keys of tasks that are not recorded.
func only(name string, w watchSource, r removal) *KeyKind {
	return &KeyKind{name, notOnDisk, goneAfterBoot, w, r, costless, undoNone, noModes, byName}
}
