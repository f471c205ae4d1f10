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

// The proofs.
const (
	ProofNone     Proof = iota
	ProofHarmless       // its kind proves that it costs the node nothing
	ProofBefore         // it brings back what was right on this node before
)

// Ground is what a proof goes by.
type Ground struct {
	View host.View          // the host before the change
	Pods []netip.Prefix     // the ranges of the pods, as the documents state them
	Read map[graph.Key]bool // the files that units of the documents read, wherever they are
}

// proof proves that a change of a kind cannot cost the node anything. What it cannot prove, or
// cannot read, is false: the change is then made under a checkpoint. It writes nothing.
type proof func(ctx context.Context, t Task, c *Change, on Ground) bool

// Harmless says that the kind of a task proves a change of it harmless: nothing that the node's own
// network, its boot, its units or its accounts go by changes. What pods lose is no question of it.
func Harmless(ctx context.Context, t Task, c *Change, on Ground) bool {
	read := slices.ContainsFunc(t.Owns(), func(key graph.Key) bool { return on.Read[key] })
	return !read && kinds[t.row()].proof(ctx, t, c, on)
}

// ReadByUnits are the files, by their keys, that units of the documents read: what such a unit does
// with one, at its next start, nobody can say.
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

// never is of kinds of which no change can be proved: what a program does that is started, or what
// a network leaves.
func never(context.Context, Task, *Change, Ground) bool { return false }

// always is of kinds that touch nothing of the node's own.
func always(context.Context, Task, *Change, Ground) bool { return true }

// proves is for kinds that look at their task.
func proves[T Task](is func(ctx context.Context, t T, c *Change, on Ground) bool) proof {
	return func(ctx context.Context, t Task, c *Change, on Ground) bool { return is(ctx, value[T](t), c, on) }
}

// Anew says that a repair of the task runs programs again. That they worked before does not prove
// that they will: such a task is never [ProofBefore].
func Anew(t Task) bool { return t.row() == rowUnit || t.row() == rowUnitState }

// harmlessDirs are below which files are of no account to the node's own network, boot, units and
// accounts. Kubernetes and its runtime read them, and the runtime goes on with what it has read.
var harmlessDirs = []string{
	"/etc/cni/",                // read by the container runtime when a pod comes or goes (CNI specification)
	"/opt/cni/",                // run by it
	"/var/lib/cni/",            // what plugins keep of pods
	"/etc/kubernetes/",         // kubelet's and the API server's files (kubeadm); without static pods, see below
	"/srv/kubernetes/",         // the same of kOps
	"/var/lib/kubelet/",        // kubelet's own
	"/etc/containerd/certs.d/", // read by containerd when it pulls an image (containerd's hosts.md)
	"/var/lib/netwright/",      // ours
	"/run/netwright/",
	"/etc/motd", "/etc/motd.d/", // shown to who logs in
}

// staticPods is a part of a path below which kubelet runs what it finds, with all rights of the
// host if it says so: https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
const staticPods = "/manifests"

// HarmlessPath says that a file may change without a checkpoint.
func HarmlessPath(file string, facts *host.Facts) bool {
	if strings.Contains(file+"/", staticPods+"/") {
		return false
	}
	return slices.ContainsFunc(harmlessDirsOf(facts), func(place string) bool {
		return strings.HasPrefix(file+"/", strings.TrimSuffix(place, "/")+"/")
	})
}

// harmlessDirsOf are the harmless ones with those where this node's runtime has its confs and
// plugins.
func harmlessDirsOf(facts *host.Facts) []string {
	out := slices.Clone(harmlessDirs)
	if facts == nil {
		return out
	}
	for _, dir := range append(slices.Clone(facts.Runtime.BinDirs), facts.Runtime.ConfDir) {
		if strings.Contains(dir+"/", "/cni/") { // a runtime that runs plugins from /usr/bin shares it
			out = append(out, dir)
		}
	}
	return out
}

// harmlessPaths is the proof of what owns paths: all that changes is in a harmless place, or is a
// directory that is made on the way to one.
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

// pathOf is FileOf of keys that are paths. A row of the table cannot ask the table.
func pathOf(key graph.Key) string {
	if key.Kind() != KindFile {
		return ""
	}
	return key.Name()
}

// fileHarmless is the proof of a file: by its place, or since each line of it that is new is
// proved.
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

// Our own files that are read at boot, a line for each task that does the same now.
const (
	ownSysctls = "/etc/sysctl.d/" + facts.OwnSysctlFile
	ownModules = "/etc/modules-load.d/netwright.conf"
)

// linesHarmless says that each new line of a file is harmless, and that each line that goes has a
// new one of the same key. Where the content is not shown it is false.
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

// bareLines are those of a file without comments and empty ones.
func bareLines(content []byte) (out []string) {
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			out = append(out, line)
		}
	}
	return out
}

// dirHarmless is the proof of a directory: by its place, or since it is the one of our settings and
// new. Elsewhere a name alone may say something, as those of /etc/nologin and
// /etc/netwright/disabled do.
func dirHarmless(ctx context.Context, t Directory, c *Change, on Ground) bool {
	made := !slices.ContainsFunc(c.Items, func(it Item) bool { return it.Op != Create })
	return made && t.Path == ownSettings || harmlessPaths(ctx, t, c, on)
}

// ownSettings is where the agent's own settings are, which no document writes.
const ownSettings = "/etc/netwright"

// dropInHarmless is the proof of a drop-in. Those of kubelet and the runtimes are ours to the last
// byte; of a unit that the documents name nothing is known.
func dropInHarmless(_ context.Context, t DropIn, _ *Change, _ Ground) bool {
	return runtimeUnits[t.Unit]
}

// effectHarmless is the proof of an effect. A daemon-reload starts nothing.
func effectHarmless(_ context.Context, t Effect, _ *Change, _ Ground) bool {
	return t.Action == ActionDaemonReload || runtimeUnits[t.Unit]
}

// tomlHarmless is the proof of a key in a TOML file: those of the container runtime.
func tomlHarmless(_ context.Context, t TOMLKey, _ *Change, _ Ground) bool {
	return strings.HasPrefix(t.Path, "/etc/containerd/") || strings.HasPrefix(t.Path, "/etc/crio/")
}

// mountHarmless is the proof of a mount: file systems of the kernel's own objects, in a place where
// nothing is mounted yet. Neither hides anything, nor reads a disk.
func mountHarmless(_ context.Context, t Mount, c *Change, _ Ground) bool {
	fresh := !slices.ContainsFunc(c.Items, func(it Item) bool { return it.Op != Create })
	return fresh && (t.Type == "bpf" || t.Type == "cgroup2") &&
		(strings.HasPrefix(t.Where, "/sys/fs/") || strings.HasPrefix(t.Where, "/run/"))
}

// moduleKindHarmless is the proof of a module.
func moduleKindHarmless(ctx context.Context, t Module, _ *Change, on Ground) bool {
	return moduleHarmless(ctx, t.Name, on)
}

// harmlessModules only offer what somebody must ask for: a file system, a kind of link, a match or
// a target of a rule. They are those that networks name, and their kin; a name that ends in _
// stands for all that begin so. No driver, and nothing that takes packets as soon as it is there.
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
	"vfio_pci", "uio_pci_generic", // devices are handed to them by name
}

// moduleHarmless says that to load a module costs nothing. br_netfilter is one of a kind: it hands
// what bridges pass on to the firewall at once. Where the node itself is behind a bridge, those are
// its own packets. https://docs.kernel.org/networking/ip-sysctl.html (bridge-nf-call-iptables)
func moduleHarmless(ctx context.Context, name string, on Ground) bool {
	name = ModuleKey(name).Name()
	if name == "br_netfilter" {
		return !behindBridge(ctx, on)
	}
	return slices.ContainsFunc(harmlessModules, func(known string) bool {
		return name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known)
	})
}

// behindBridge says that the node may be reached over a bridge. What cannot be read is taken for
// one.
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

// removalHarmless is the proof of a removal: a file in a harmless place. What a node is reached by
// may go with anything else.
func removalHarmless(ctx context.Context, t Removal, c *Change, on Ground) bool {
	return t.Key.Kind() == KindFile && harmlessPaths(ctx, t, c, on)
}

// NotLive says that a task which documents ask for was class live before changes had to be proved
// harmless, and is reload since: a sysctl, a file, the unit of a hook. It goes by the task and the
// facts alone, and not by what a host has. read is [ReadByUnits] of all tasks.
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
