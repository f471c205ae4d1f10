package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// Class says what a change costs the node that takes it, in rising order. A plan's class is the
// highest of its steps'.
type Class int

// The classes.
const (
	ClassLive    Class = iota // nothing that runs notices
	ClassReload               // something that runs reads its configuration again, or a change is not proved harmless
	ClassRestart              // a unit is stopped or started anew: kubelet, the runtime, networkd; pods go on
	ClassDrain                // pods that run lose their network, or go: they are better moved away first
	ClassReplace              // a running node does not become this: it is booted again, or made anew
)

var classNames = [...]string{"live", "reload", "restart", "drain", "replace the node"}

// String is the class's name, as documents and plans have it.
func (c Class) String() string { return classNames[c] }

// ParseClass is the class of a name; of an unknown one the lowest.
func ParseClass(name string) Class { return Class(max(slices.Index(classNames[:], name), 0)) }

// classes is what makes a change more than [ClassLive]. Every row that matches counts, and the
// highest is the change's class.
var classes = []struct {
	class Class
	why   string
	is    func(task graph.Key, c *Change) bool
}{
	{ClassReload, "a unit reads its configuration again", does(ActionReload)},
	{ClassReload, "what the node is reached by changes, and comes back if it is cut off",
		func(_ graph.Key, c *Change) bool { return c.Disruption == MayCutOff }},
	{ClassReload, "it is not proved harmless, and is made under a checkpoint",
		func(_ graph.Key, c *Change) bool { return c.Proof == ProofNone }},
	{ClassRestart, "a unit that runs is stopped or restarted",
		func(_ graph.Key, c *Change) bool { return c.Disruption == RestartsUnit }},
	{ClassRestart, "what sets up the node's own network is restarted",
		func(task graph.Key, c *Change) bool { return c.Disruption == MayCutOff && does(ActionRestart)(task, c) }},
	{ClassRestart, "kubelet stands still while the network changes", kind(KindPause)},
	{ClassDrain, "pods are taken off the node", kind(KindEvict)},
	{ClassDrain, "what pods have as their gateway or their link goes", goes},
	{ClassReplace, "it is read when the node boots", bootOnly},
}

// ClassOf is the class of what a task would do, and why in a clause; "" of a live one. The effects
// that it asks for are tasks of their own: a restart of what does not run is none.
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

// does says that the task is an effect with that action.
func does(action EffectAction) func(graph.Key, *Change) bool {
	return func(task graph.Key, _ *Change) bool {
		return task.Kind() == KindEffect && EffectOf(task).Action == action
	}
}

func kind(name string) func(graph.Key, *Change) bool {
	return func(task graph.Key, _ *Change) bool { return task.Kind() == name }
}

// goes says that a key is removed whose row says that pods are better moved away first.
func goes(_ graph.Key, c *Change) bool {
	return slices.ContainsFunc(c.Items,
		func(it Item) bool { return it.Op == Remove && rowOf(it.Key).costs.gone >= ClassDrain })
}

// bootFiles are read by the boot loader, or by the kernel as it starts. Those of modules, sysctls
// and mounts are not among them: their tasks do now what the file does at the next boot.
var bootFiles = []string{"/boot/", "/etc/default/grub", "/etc/kernel/", "/etc/grub.d/", "/etc/initramfs-tools/",
	"/etc/dracut.conf"}

func bootOnly(_ graph.Key, c *Change) bool {
	return slices.ContainsFunc(c.Items,
		func(it Item) bool { return it.Key.Kind() == KindFile && bootOnlyFile(it.Key.Name()) })
}

func bootOnlyFile(file string) bool {
	return slices.ContainsFunc(bootFiles, func(dir string) bool { return strings.HasPrefix(file, dir) })
}
