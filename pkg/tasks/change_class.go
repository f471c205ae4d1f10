package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// Class says what a change costs the node, in rising order. A plan's class is the highest class of
// its steps.
type Class int

// The classes.
const (
	ClassLive    Class = iota // no running program notices
	ClassReload               // a running program reads its configuration again, or the change is not proved harmless
	ClassRestart              // a unit is stopped or restarted: kubelet, the runtime, networkd; pods continue
	ClassDrain                // running pods lose their network, or are removed: it is better to move them away first
	ClassReplace              // a running node cannot change to this: it must boot again, or be replaced
)

var classNames = [...]string{"live", "reload", "restart", "drain", "replace the node"}

// String returns the class's name, as documents and plans write it.
func (c Class) String() string { return classNames[c] }

// ParseClass returns the class with this name; ClassLive for an unknown name.
func ParseClass(name string) Class { return Class(max(slices.Index(classNames[:], name), 0)) }

// classes are the conditions that make a change more than [ClassLive]. The highest class of all
// conditions that match counts.
var classes = []struct {
	class Class
	why   string
	is    func(task graph.Key, c *Change) bool
}{
	{ClassReload, "a unit reads its configuration again", does(ActionReload)},
	{ClassReload, "the node's own connection changes, and the change is undone if it cuts the node off",
		func(_ graph.Key, c *Change) bool { return c.Disruption == MayCutOff }},
	{ClassReload, "the change is not proved harmless, and is made under a checkpoint",
		func(_ graph.Key, c *Change) bool { return c.Proof == ProofNone }},
	{ClassRestart, "a unit that runs is stopped or restarted",
		func(_ graph.Key, c *Change) bool { return c.Disruption == RestartsUnit }},
	{ClassRestart, "the service that sets up the node's own network is restarted",
		func(task graph.Key, c *Change) bool { return c.Disruption == MayCutOff && does(ActionRestart)(task, c) }},
	{ClassRestart, "kubelet stands still while the network changes", kind(KindPause)},
	{ClassDrain, "pods are taken off the node", kind(KindEvict)},
	{ClassDrain, "the gateway or the link of pods is removed", goes},
	{ClassReplace, "the node reads it only at boot", bootOnly},
}

// ClassOf returns the class of a change and the reason in a clause; "" for a live one. The effects
// that the change asks for are tasks of their own: the restart of a unit that does not run is no
// restart.
func ClassOf(task graph.Key, c *Change) (class Class, why string) {
	if c == nil || c.NotApplicable != "" {
		return ClassLive, ""
	}
	for _, row := range classes {
		if row.class > class && row.is(task, c) {
			class, why = row.class, row.why
		}
	}
	return class, why
}

// does returns a condition: the task is an effect with that action.
func does(action EffectAction) func(graph.Key, *Change) bool {
	return func(task graph.Key, _ *Change) bool {
		return task.Kind() == KindEffect && EffectOf(task).Action == action
	}
}

func kind(name string) func(graph.Key, *Change) bool {
	return func(task graph.Key, _ *Change) bool { return task.Kind() == name }
}

// goes reports whether the change removes a key whose row says to move pods away first.
func goes(_ graph.Key, c *Change) bool {
	return slices.ContainsFunc(c.Items,
		func(it Item) bool { return it.Op == Remove && rowOf(it.Key).costs.gone >= ClassDrain })
}

// bootFiles are read by the boot loader, or by the kernel at its start. Files of modules, sysctls
// and mounts are not in the list: their tasks do now what the files do at the next boot.
var bootFiles = []string{"/boot/", "/etc/default/grub", "/etc/kernel/", "/etc/grub.d/", "/etc/initramfs-tools/",
	"/etc/dracut.conf"}

func bootOnly(_ graph.Key, c *Change) bool {
	return slices.ContainsFunc(c.Items,
		func(it Item) bool { return it.Key.Kind() == KindFile && bootOnlyFile(it.Key.Name()) })
}

func bootOnlyFile(file string) bool {
	return slices.ContainsFunc(bootFiles, func(dir string) bool { return strings.HasPrefix(file, dir) })
}
