package facts

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// moduleNames are the modules that a builder may ask for.
var moduleNames = []string{
	"8021q", "act_pedit", "br_netfilter", "bridge", "cls_u32", "dummy", "ebtable_nat", "esp4", "esp6",
	"fou", "fou6", "geneve", "ifb", "ip6_tables", "ip6_tunnel", "ip6t_rpfilter", "ip6table_filter",
	"ip6table_mangle", "ip6table_raw", "ip_gre", "ip_set", "ip_tables", "ip_vs", "ip_vs_rr",
	"ip_vs_sh", "ip_vs_wrr", "ipip", "ipt_rpfilter", "iptable_nat", "ipvlan", "macvlan",
	"nf_conntrack", "nf_tables", "nfnetlink_log", "nfnetlink_queue", "nft_flow_offload",
	"openvswitch", "overlay", "sch_fq", "sch_ingress", "sch_prio", "sch_tbf", "tun",
	"uio_pci_generic", "veth", "vfio_pci", "vrouter", "vport_gre", "vport_vxlan", "vxlan", "wireguard",
	"xfrm_algo", "xfrm_user", "xt_connmark", "xt_set", "xt_socket", "xt_TPROXY",
}

// KnowsModule reports whether [KernelFacts.ModuleStates] has a module (its name with underscores)
// on a running host.
func KnowsModule(name string) bool { return slices.Contains(moduleNames, name) }

// kernelFacts describes the running kernel. For an image only the release is set.
func kernelFacts(k *kernel.Reader, contain string) KernelFacts {
	facts := KernelFacts{Release: k.Release}
	if !k.Live {
		return facts
	}
	facts.IPv6 = unix.Access(k.Proc+"/sys/net/ipv6/conf", unix.F_OK) == nil
	facts.HostSysctls = contain == "" && k.OwnsSysctls()
	facts.Modules = contain == "" && unix.Access(k.Proc+"/modules", unix.F_OK) == nil
	var fs unix.Statfs_t
	facts.BPF = unix.Statfs(k.Sys+"/fs/bpf", &fs) == nil && fs.Type == unix.BPF_FS_MAGIC
	facts.Hugepages = hugepages(k)
	facts.ModuleStates = k.Modules(moduleNames)
	return facts
}

// Container returns what contains this process, or "". First it looks at what systemd and the
// container managers say (https://systemd.io/CONTAINER_INTERFACE), then whether root here is root
// of the machine.
func Container(k *kernel.Reader, sandbox bool) string {
	switch {
	case sandbox:
		return "sandbox"
	case !k.Live:
		return ""
	}
	for _, file := range []string{"/run/systemd/container", "/run/host/container-manager"} {
		if raw, err := sys.ReadKernelFile(file); err == nil && len(bytes.TrimSpace(raw)) > 0 {
			return string(bytes.TrimSpace(raw))
		}
	}
	if environ, err := sys.ReadKernelFile(k.Proc + "/1/environ"); err == nil {
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if name, ok := strings.CutPrefix(v, "container="); ok && name != "" {
				return name
			}
		}
	}
	for file, name := range map[string]string{"/run/.containerenv": "podman", "/.dockerenv": "docker"} {
		if _, err := os.Stat(file); err == nil {
			return name
		}
	}
	// The initial user namespace maps each id to itself.
	if raw, err := sys.ReadKernelFile(k.Proc + "/self/uid_map"); err == nil &&
		sys.FoldSpace(string(raw)) != "0 0 4294967295" {
		return "user namespace"
	}
	return ""
}

// cgroupVersion returns the version of the cgroup hierarchy, 0 if unknown.
func cgroupVersion(k *kernel.Reader) int {
	var fs unix.Statfs_t
	if !k.Live || unix.Statfs(k.Sys+"/fs/cgroup", &fs) != nil {
		return 0
	}
	switch fs.Type {
	case unix.CGROUP2_SUPER_MAGIC:
		return 2
	case unix.TMPFS_MAGIC:
		return 1
	}
	return 0
}

// hugepages returns the number of allocated huge pages of each size that the kernel supports. It is
// nil if unknown.
// https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
func hugepages(k *kernel.Reader) map[string]int {
	if unix.Access(k.Sys+"/kernel/mm", unix.F_OK) != nil {
		return nil
	}
	out := map[string]int{}
	sizes, err := os.ReadDir(k.Sys + "/kernel/mm/hugepages")
	if err != nil { // a kernel without huge pages
		return out
	}
	for _, e := range sizes {
		kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(e.Name(), "hugepages-"), "kB"))
		if err != nil {
			continue
		}
		size := strconv.Itoa(kb) + "K"
		switch {
		case kb >= 1<<20:
			size = strconv.Itoa(kb>>20) + "G"
		case kb >= 1<<10:
			size = strconv.Itoa(kb>>10) + "M"
		}
		out[size] = 0
		if raw, err := sys.ReadKernelValue(k.Sys + "/kernel/mm/hugepages/" + e.Name() + "/nr_hugepages"); err == nil {
			out[size], _ = strconv.Atoi(strings.TrimSpace(string(raw))) // the kernel writes numbers
		}
	}
	return out
}

// imageKernel returns the modules of the kernels in an image. If one of several kernels has a
// module, the module counts as loadable, because it is unknown which kernel will boot.
func imageKernel(l *Sources) KernelFacts {
	names, err := l.files.ReadDir("/lib/modules")
	if err != nil {
		return KernelFacts{}
	}
	facts := KernelFacts{}
	for _, release := range names {
		dir := path.Join("/lib/modules", release)
		deps, err := l.files.ReadFile(dir + "/modules.dep")
		if err != nil {
			continue // left by a removed kernel
		}
		builtin, _ := l.files.ReadFile(dir + "/modules.builtin") // missing is like empty
		if facts.ModuleStates == nil {
			facts.Modules, facts.ModuleStates = true, map[string]kernel.ModuleState{}
			for _, name := range moduleNames {
				facts.ModuleStates[name] = kernel.ModuleMissing
			}
		}
		for _, list := range [][]byte{builtin, deps} {
			kernel.ReadModuleList(bytes.NewReader(list)).Mark(facts.ModuleStates, kernel.ModuleLoadable)
		}
	}
	return facts
}

// ModuleSource says, for an error message, how to get a missing module of a kernel release: the
// package of the distribution that has it.
func ModuleSource(os OSRelease, release string) string {
	for _, id := range append([]string{os.ID}, os.IDLike...) {
		switch id {
		case "flatcar", "coreos", "bottlerocket", "cos": // read-only root
			return "boot a release of " + id + " whose kernel has it"
		case "rhel", "centos", "fedora", "rocky", "almalinux", "ol":
			return "install kernel-modules-extra-" + release
		case "amzn":
			return "install kernel-modules-extra of kernel " + release
		case "ubuntu":
			return "install linux-modules-extra-" + release
		case "debian":
			return "install linux-image-" + release + " (the -cloud- kernels leave modules out: use the one without)"
		case "suse", "opensuse", "sles":
			return "install kernel-default in the version of " + release
		}
	}
	return "install the package of kernel " + release + " that has it"
}
