package model

import (
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
)

// nodeSysctls returns the sysctls of every node, unless a document sets other values. The values
// are those of kOps (nodeup/pkg/model/sysctls.go); Why links the issue behind a value where there
// is one. A kernel without such a key is fine.
func nodeSysctls(in network.Input) []network.Sysctl {
	out := []network.Sysctl{
		{Key: "vm.max_map_count", Value: "1048576", Why: "Elasticsearch and others map many files (kops#1340)"},
		{Key: "kernel.softlockup_panic", Value: "1", Why: "a stuck node reboots (kubernetes#38001)"},
		{Key: "kernel.softlockup_all_cpu_backtrace", Value: "1", Why: "and says where it was stuck"},
		{Key: kernel.ReservedPorts, Value: in.Node.NodePortRange.String(),
			Why: "node ports are no source ports (kops#6342)"},
		{Key: "net.core.somaxconn", Value: "32768", Why: "many connections"},
		{Key: "net.core.rmem_max", Value: "16777216", Why: "large receive buffers"},
		{Key: "net.core.wmem_max", Value: "16777216", Why: "large send buffers"},
		{Key: "net.ipv4.tcp_wmem", Value: "4096 87380 16777216", Why: "large send buffers (kops#10206)"},
		{Key: "net.ipv4.tcp_rmem", Value: "4096 87380 16777216", Why: "large receive buffers (kops#10206)"},
		{Key: "net.ipv4.tcp_max_syn_backlog", Value: "8096", Why: "many connections at once"},
		{Key: "net.ipv4.tcp_slow_start_after_idle", Value: "0", Why: "idle HTTP connections stay fast"},
		{Key: "net.ipv4.tcp_tw_reuse", Value: "1", Why: "sockets in TIME_WAIT are used again"},
		{Key: "net.core.netdev_max_backlog", Value: "16384", Why: "bursts of packets"},
		{Key: "fs.file-max", Value: "2097152", Why: "many open files"},
		{Key: "fs.inotify.max_user_instances", Value: "8192", Why: "every pod watches files as root"},
		{Key: "vm.overcommit_memory", Value: "1", Why: "kubelet expects it (protectKernelDefaults)"},
		{Key: "kernel.panic", Value: "10", Why: "kubelet expects it (protectKernelDefaults)"},
		{Key: "kernel.panic_on_oops", Value: "1", Why: "kubelet expects it (protectKernelDefaults)"},
	}
	if !in.Node.KubernetesVersion.AtLeast(1, 36) { // kOps dropped it: kernels from 5.11 on choose a higher value by themselves
		out = append(out, network.Sysctl{Key: "fs.inotify.max_user_watches", Value: "524288",
			Why: "every pod watches files as root"})
	}
	if in.Node.CloudProvider == "aws" {
		out = append(out, network.Sysctl{Key: "net.ipv4.neigh.default.gc_thresh1", Value: "0",
			Why: "AWS gives addresses to new machines at once: no stale neighbours (kubernetes#23395)"})
	}
	for i := range out {
		out[i].Optional = true
	}
	return out
}
