package tasks

import (
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// InterestOf is what a watcher has to hear of for a list of tasks: what they own, and what they look at besides. Who is woken plans them; nothing here
// says what anything should be like. An event that no task hears of is found by the next pass that looks at everything.
func InterestOf(list []Task) host.Interest {
	var i host.Interest
	for _, t := range list {
		for _, key := range t.Owns() {
			interested(&i, key)
		}
		switch t := t.(type) {
		case Address:
			i.Addresses = append(i.Addresses, t.Prefix.Addr())
			i.Links = append(i.Links, t.Link)
		case Route:
			i.Routes = append(i.Routes, t.Canonical())
		case Rule:
			i.Rules = append(i.Rules, t.Canonical())
		case Table:
			i.Tables = append(i.Tables, host.TableName{Family: t.Family, Name: t.Name})
		case ForwardAccept:
			i.Forward = true
		case WaitConf:
			i.Lists = append(append(i.Lists, t.Dir), t.BinDirs...)
		}
	}
	return i
}

// interested adds what a key says by itself.
func interested(i *host.Interest, key graph.Key) {
	name := key.Name()
	switch key.Kind() {
	case KindFile:
		i.Paths = append(i.Paths, name)
	case KindTOML:
		file, _, _ := strings.Cut(name, "#")
		i.Paths = append(i.Paths, file)
	case KindLink:
		i.Links = append(i.Links, name)
	case KindSysctl:
		i.Sysctls = append(i.Sysctls, name)
	case KindModule:
		i.Modules = append(i.Modules, name)
	case KindMount:
		i.Mounts = append(i.Mounts, name)
	case KindUnit:
		i.Units = append(i.Units, name)
	}
}

// Unheard says that nothing may tell of changes of what a task owns, so that it has to be looked at now and then: most sysctls, the tables of ip_tables, and whatever
// comes from a source that cannot be heard. A route and an address that are heard are never among them.
func Unheard(t Task, deaf map[host.WakeSource]error) bool {
	for _, key := range t.Owns() {
		source, told := sources[key.Kind()]
		switch {
		case key.Kind() == KindSysctl && !host.SysctlTold(key.Name()), key.Kind() == KindForward:
			return true
		case told && deaf[source] != nil:
			return true
		}
	}
	return false
}

// sources tell of the kinds of keys.
var sources = map[string]host.WakeSource{
	KindFile: host.WakeFiles, KindTOML: host.WakeFiles, KindConf: host.WakeFiles,
	// One socket hears all of rtnetlink, and is deaf under one name.
	KindLink: host.WakeLinks, KindAddr: host.WakeLinks, KindRoute: host.WakeLinks, KindRule: host.WakeLinks, KindSysctl: host.WakeLinks,
	KindTable: host.WakeNFT, KindModule: host.WakeModules, KindMount: host.WakeMounts, KindUnit: host.WakeUnits,
}
