package node

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rootfs"
)

//go:embed base.go
var recipe string // whatever is written here decides what a base holds

var baseFiles = map[string]string{
	// nspawn mounts cgroup v1 controllers read-only; runc must write there. The node has a cgroup
	// namespace: it sees its own subtree only.
	"etc/systemd/system/lab-cgroup-rw.service": `[Unit]
Description=Make the cgroup controllers writable
DefaultDependencies=no
Before=containerd.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for d in /sys/fs/cgroup/*/; do mountpoint -q $d || continue; mount -o remount,bind,rw $d || exit 1; done'
[Install]
WantedBy=multi-user.target
`,
	// The node's address and default route, set at each boot as a cloud's image would.
	// /etc/lab-network is written per node.
	"etc/systemd/system/lab-network.service": `[Unit]
Description=Address and default route of host0
DefaultDependencies=no
ConditionPathExists=/etc/lab-network
Wants=network.target
Before=network.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip -batch /etc/lab-network
[Install]
WantedBy=multi-user.target
`,
	// As Kubernetes nodes have it. restrict_oom_score_adj: a node may lack CAP_SYS_RESOURCE, which
	// a lower score takes.
	"etc/containerd/config.toml": `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "localhost/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
`,
}

const baseScript = rootfs.DropUnits + `
systemctl -q enable lab-cgroup-rw.service lab-network.service
systemctl -q mask systemd-tmpfiles-clean.timer systemd-sysusers.service
# They find nothing in a node, and run at its boot and at each daemon-reload: half of what that costs.
mkdir -p /etc/systemd/system-generators
for g in cryptsetup debug getty gpt-auto hibernate-resume integritysetup rc-local run system-update sysv veritysetup; do
	ln -s /dev/null /etc/systemd/system-generators/systemd-$g-generator
done
truncate -s0 /etc/machine-id
rm -rf /boot/* /lib/modules/* /etc/hostname /etc/resolv.conf /debootstrap /var/log/bootstrap.log /var/cache/apt/* /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/*
mkdir -p /var/log/journal /var/lib/containerd /etc/cni/net.d
`

// Base returns the root file system below the overlays of all nodes: this machine's own release
// with systemd and containerd. It is built once and cached, and nobody may write to it. Base fails
// or skips the test if it cannot be built.
func Base(t testing.TB) string {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "systemd-nspawn", "depmod", "ip", "nft", "nsenter")
	builtin := builtinModules(t)
	kernel, system := kernelRelease(), rootfs.System(t)
	return cache.Built(t, "node", cache.Key(recipe, rootfs.DropUnits, kernel, builtin, system), func(dir string) error {
		ctx := context.Background()
		if err := rootfs.Copy(ctx, system, dir); err != nil {
			return err
		}
		if err := rootfs.WriteFiles(dir, baseFiles); err != nil {
			return err
		}
		if err := rootfs.Chroot(ctx, dir, baseScript); err != nil {
			return err
		}
		return listBuiltin(ctx, dir, kernel, builtin)
	})
}

// builtinModules lists what a node's modprobe shall call built in: what this kernel has, built in
// or loaded. Nodes share the machine's kernel and may load nothing into it.
func builtinModules(t testing.TB) string {
	t.Helper()
	var list strings.Builder
	for _, module := range []struct{ evidence, path string }{
		{"/proc/sys/net/bridge/bridge-nf-call-iptables", "kernel/net/bridge/br_netfilter.ko"},
		{"/proc/sys/net/bridge", "kernel/net/bridge/bridge.ko"},
		{"/proc/sys/net/netfilter/nf_conntrack_max", "kernel/net/netfilter/nf_conntrack.ko"},
		{"/sys/module/overlay", "kernel/fs/overlayfs/overlay.ko"},
		{"/sys/module/nf_tables", "kernel/net/netfilter/nf_tables.ko"},
		{"/sys/module/veth", "kernel/drivers/net/veth.ko"},
		{"/sys/module/vxlan", "kernel/drivers/net/vxlan/vxlan.ko"},
	} {
		if _, err := os.Stat(module.evidence); err == nil {
			fmt.Fprintln(&list, module.path)
		} else if strings.HasSuffix(module.path, "br_netfilter.ko") {
			needs.Missing(t, "needs the kernel module br_netfilter, which nodes cannot load themselves: modprobe br_netfilter")
		}
	}
	if filesystems, _ := os.ReadFile("/proc/filesystems"); !strings.Contains(list.String(), "overlay.ko") {
		if !strings.Contains(string(filesystems), "\toverlay\n") {
			needs.Missing(t, "needs the kernel module overlay: modprobe overlay")
		}
		fmt.Fprintln(&list, "kernel/fs/overlayfs/overlay.ko")
	}
	return list.String()
}

func listBuiltin(ctx context.Context, dir, kernel, builtin string) error {
	modules := filepath.Join("lib/modules", kernel)
	err := rootfs.WriteFiles(dir, map[string]string{modules + "/modules.builtin": builtin, modules + "/modules.order": ""})
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "depmod", "-b", dir, kernel).CombinedOutput(); err != nil {
		return fmt.Errorf("indexing the built-in modules: %w\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, modules, "modules.builtin.bin")); errors.Is(err, fs.ErrNotExist) {
		return errors.New("depmod wrote no index of the built-in modules")
	}
	return nil
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}
