package tasks

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// The values of Proof.
const (
	ProofNone     Proof = iota
	ProofHarmless       // the kind proves that the change cannot harm the node
	ProofBefore         // it restores what was right on this node before
)

// Ground has the facts that a proof uses.
type Ground struct {
	View host.View          // the host before the change
	Pods []netip.Prefix     // the pod ranges in the documents
	Read map[graph.Key]bool // the files that units of the documents read
}

// proof proves that a change of a kind cannot harm the node. It returns false where it cannot prove
// that, or cannot read what it needs: the change is then made under a checkpoint. It writes
// nothing.
type proof func(ctx context.Context, t Task, c *Change, on Ground) bool

// Harmless reports whether the kind of a task proves a change of it harmless: the change does not
// affect the node's own network, its boot, its units or its accounts. It does not consider what
// pods lose.
func Harmless(ctx context.Context, t Task, c *Change, on Ground) bool {
	read := slices.ContainsFunc(t.Owns(), func(key graph.Key) bool { return on.Read[key] })
	return !read && kinds[t.row()].proof(ctx, t, c, on)
}

// ReadByUnits returns the keys of files that units of the documents read. The agent cannot know
// what such a unit does with a file at its next start.
func ReadByUnits(list []Task) map[graph.Key]bool {
	out := map[graph.Key]bool{}
	for _, t := range list {
		if t.row() != rowUnitState {
			continue
		}
		for _, key := range NeedsOf(t) {
			if key.Kind() == KindFile {
				out[key] = true
			}
		}
	}
	return out
}

// never is for kinds whose changes cannot be proved: they start a program, or remove what a network
// left.
func never(context.Context, Task, *Change, Ground) bool { return false }

// always is for kinds that change nothing that the node itself needs.
func always(context.Context, Task, *Change, Ground) bool { return true }

// proves makes a proof from a function for one kind of task.
func proves[T Task](is func(ctx context.Context, t T, c *Change, on Ground) bool) proof {
	return func(ctx context.Context, t Task, c *Change, on Ground) bool { return is(ctx, value[T](t), c, on) }
}

// Anew reports whether a repair of the task starts programs again. That they worked before does not
// prove that they will work now: such a task never has [ProofBefore].
func Anew(t Task) bool { return t.row() == rowUnit || t.row() == rowUnitState }

// harmlessDirs are directories whose files do not affect the node's own network, boot, units and
// accounts. Kubernetes and the container runtime read them, and the runtime goes on with what it
// has read.
var harmlessDirs = []string{
	"/etc/cni/",                // the container runtime reads it when a pod is added or removed (CNI specification)
	"/opt/cni/",                // the container runtime runs its programs
	"/var/lib/cni/",            // state of plugins about pods
	"/etc/kubernetes/",         // files of kubelet and the API server (kubeadm), except static pods: see below
	"/srv/kubernetes/",         // the same files on kOps
	"/var/lib/kubelet/",        // kubelet's own files
	"/etc/containerd/certs.d/", // containerd reads it when it pulls an image (containerd's hosts.md)
	"/var/lib/netwright/",      // the agent's own files
	"/run/netwright/",
	"/etc/motd", "/etc/motd.d/", // shown at login
}

// staticPods is the name of directories from which kubelet starts pods, with all rights of the host
// where a pod asks for them: https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
const staticPods = "/manifests"

// HarmlessPath reports whether a file may change without a checkpoint.
func HarmlessPath(file string, facts *host.Facts) bool {
	if strings.Contains(file+"/", staticPods+"/") {
		return false
	}
	return slices.ContainsFunc(harmlessDirsOf(facts), func(place string) bool {
		return strings.HasPrefix(file+"/", strings.TrimSuffix(place, "/")+"/")
	})
}

// harmlessDirsOf returns harmlessDirs and the directories of confs and plugins of this node's
// runtime.
func harmlessDirsOf(facts *host.Facts) []string {
	out := slices.Clone(harmlessDirs)
	if facts == nil {
		return out
	}
	for _, dir := range append(slices.Clone(facts.Runtime.BinDirs), facts.Runtime.ConfDir) {
		if strings.Contains(dir+"/", "/cni/") { // a directory such as /usr/bin has other programs, too
			out = append(out, dir)
		}
	}
	return out
}

// harmlessPaths is the proof of tasks that own paths: each item is below a harmless directory, or
// is a new parent directory of one.
func harmlessPaths(_ context.Context, _ Task, c *Change, on Ground) bool {
	facts := on.View.Facts
	return !slices.ContainsFunc(c.Items, func(it Item) bool {
		file := pathOf(it.Key)
		onTheWay := it.Op == Create &&
			slices.ContainsFunc(harmlessDirsOf(facts), func(place string) bool {
				return strings.HasPrefix(place,
					file+"/")
			})
		return file == "" || !HarmlessPath(file, facts) && !onTheWay
	})
}

// pathOf is FileOf for keys of paths. FileOf would be an initialization cycle, because it reads the
// table of kinds.
func pathOf(key graph.Key) string {
	if key.Kind() != KindFile {
		return ""
	}
	return key.Name()
}

// fileHarmless is the proof of a file: its directory is harmless, or each new line of the agent's
// own list of sysctls or modules is.
func fileHarmless(ctx context.Context, t File, c *Change, on Ground) bool {
	switch t.Path {
	case ownSysctls:
		return linesHarmless(c, t.Path, func(line string) bool {
			key, value, ok := strings.Cut(strings.TrimPrefix(line, "-"), " = ")
			return ok && sysctlHarmless(ctx, key, value, "", on)
		})
	case ownModules:
		return linesHarmless(c, t.Path, func(line string) bool { return moduleHarmless(ctx, line, on) })
	}
	return harmlessPaths(ctx, t, c, on)
}

// The agent's own files that are read at boot. For each line there is a task that does the same
// now.
const (
	ownSysctls = "/etc/sysctl.d/" + facts.OwnSysctlFile
	ownModules = "/etc/modules-load.d/netwright.conf"
)

// linesHarmless reports whether each new line of a file is harmless, and each removed line is
// replaced by a new one with the same key. It returns false where the plan does not show the
// content.
func linesHarmless(c *Change, file string, harmless func(line string) bool) bool {
	at := slices.IndexFunc(c.Items, func(it Item) bool { return it.Key == FileKey(file) })
	if at < 0 || c.Items[at].After == nil {
		return false
	}
	before, after := bareLines(c.Items[at].Before), bareLines(c.Items[at].After)
	for _, line := range after {
		if !slices.Contains(before, line) && !harmless(line) {
			return false
		}
	}
	keyOf := func(line string) string {
		key, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), " = ")
		return key
	}
	return !slices.ContainsFunc(before, func(line string) bool {
		return !slices.ContainsFunc(after, func(other string) bool { return keyOf(other) == keyOf(line) })
	})
}

// bareLines returns the lines of a file without comments and empty lines.
func bareLines(content []byte) (out []string) {
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			out = append(out, line)
		}
	}
	return out
}

// dirHarmless is the proof of a directory: its place is harmless, or it is the new directory of the
// agent's settings. In other places the name alone may have a meaning, as with /etc/nologin and
// /etc/netwright/disabled.
func dirHarmless(ctx context.Context, t Directory, c *Change, on Ground) bool {
	made := !slices.ContainsFunc(c.Items, func(it Item) bool { return it.Op != Create })
	return made && t.Path == ownSettings || harmlessPaths(ctx, t, c, on)
}

// ownSettings is the directory of the agent's own settings. No document may write there.
const ownSettings = "/etc/netwright"

// dropInHarmless is the proof of a drop-in. The agent makes the whole content of drop-ins for
// kubelet and the runtimes. It does not know what other units do, which the documents name.
func dropInHarmless(_ context.Context, t DropIn, _ *Change, _ Ground) bool {
	return runtimeUnits[t.Unit]
}

// effectHarmless is the proof of an effect. A daemon-reload starts no program.
func effectHarmless(_ context.Context, t Effect, _ *Change, _ Ground) bool {
	return t.Action == ActionDaemonReload || runtimeUnits[t.Unit]
}

// tomlHarmless is the proof of a key in a TOML file: only files of the container runtime are
// harmless.
func tomlHarmless(_ context.Context, t TOMLKey, _ *Change, _ Ground) bool {
	return strings.HasPrefix(t.Path, "/etc/containerd/") || strings.HasPrefix(t.Path, "/etc/crio/")
}

// mountHarmless is the proof of a mount: a bpf or cgroup2 file system where nothing is mounted yet,
// below /sys/fs or /run. Such a mount hides no files and reads no disk.
func mountHarmless(_ context.Context, t Mount, c *Change, _ Ground) bool {
	fresh := !slices.ContainsFunc(c.Items, func(it Item) bool { return it.Op != Create })
	return fresh && (t.Type == "bpf" || t.Type == "cgroup2") &&
		(strings.HasPrefix(t.Where, "/sys/fs/") || strings.HasPrefix(t.Where, "/run/"))
}

// moduleKindHarmless is the proof of a module.
func moduleKindHarmless(ctx context.Context, t Module, _ *Change, on Ground) bool {
	return moduleHarmless(ctx, t.Name, on)
}

// harmlessModules only offer what a program must ask for: a file system, a kind of link, a match or
// a target of a rule. They are the modules that networks name, and similar ones. A name that ends
// in _ stands for all names that begin with it. The list has no driver, and no module that takes
// packets as soon as it is loaded.
var harmlessModules = []string{
	// kinds of links
	"overlay", "bridge", "veth", "dummy", "ifb", "macvlan", "ipvlan", "8021q", "tun", "openvswitch", "vport_",
	// tunnels
	"vxlan", "geneve", "ipip", "ip_gre", "ip6_gre", "ip6_tunnel", "sit", "fou", "fou6", "wireguard", "esp4", "esp6",
	"xfrm_",
	// rules
	"nf_conntrack", "nf_tables", "nfnetlink_", "nft_", "ip_tables", "ip6_tables", "iptable_", "ip6table_", "ipt_",
	"ip6t_", "ebtable_", "xt_", "ip_set", "ip_set_",
	"ip_vs", "ip_vs_", "sch_", "cls_", "act_", // services, queues
	"vfio_pci", "uio_pci_generic", // devices must be bound to them by name
}

// moduleHarmless reports whether loading a module is harmless. br_netfilter is an exception: as
// soon as it is loaded, packets that bridges forward pass the firewall. Where the node itself is
// behind a bridge, these are its own packets. https://docs.kernel.org/networking/ip-sysctl.html
// (bridge-nf-call-iptables)
func moduleHarmless(ctx context.Context, name string, on Ground) bool {
	name = ModuleKey(name).Name()
	if name == "br_netfilter" {
		return !behindBridge(ctx, on)
	}
	return slices.ContainsFunc(harmlessModules, func(known string) bool {
		return name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known)
	})
}

// behindBridge reports whether the node may be reached over a bridge. It returns true where the
// links cannot be read.
func behindBridge(ctx context.Context, on Ground) bool {
	links, err := on.View.Net.Links(ctx)
	if err != nil {
		return true
	}
	bridges := map[string]bool{}
	for _, l := range links {
		bridges[l.Name] = l.Kind == "bridge"
	}
	if bridges[on.View.Facts.Uplink] {
		return true
	}
	return slices.ContainsFunc(links, func(l rtnl.Link) bool { return l.Physical && bridges[l.Master] })
}

// removalHarmless is the proof of a removal: only a file below a harmless directory is harmless.
// Any other removed thing may be what the node is reached by.
func removalHarmless(ctx context.Context, t Removal, c *Change, on Ground) bool {
	return t.Key.Kind() == KindFile && harmlessPaths(ctx, t, c, on)
}

// NotLive reports whether a task of the documents had the class live before changes had to be
// proved harmless, and has reload since: a sysctl, a file, the unit of a hook. It uses only the
// task and the facts, not the state of the host. read is [ReadByUnits] of all tasks.
func NotLive(t Task, facts *host.Facts, read map[graph.Key]bool) bool {
	switch t := t.(type) {
	case Sysctl:
		key := SysctlKey(t.Key).Name()
		if key == kernel.ReservedPorts {
			left, ok := kernel.SourcePorts("", t.Value)
			return !ok || left < leastPorts
		}
		return sysctlDisruption(key, t.Value) == NoDisruption && !inRange(key, t.Value, "")
	case File:
		return !NetworkFile(t.Path) && (!HarmlessPath(t.Path, facts) || read[FileKey(t.Path)]) && !bootOnlyFile(t.Path)
	case UnitState:
		return !networkUnits[t.Name]
	}
	return false
}
