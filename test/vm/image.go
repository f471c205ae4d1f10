package vm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rootfs"
)

//go:embed image.go
var recipe string // whatever is written here decides what an image holds

var files = map[string]string{
	"etc/hostname":              "vm\n",
	"etc/hosts":                 "127.0.0.1 localhost\n::1 localhost\n",
	"etc/fstab":                 "", // the kernel mounts the root; an entry would make systemd wait for udev
	"etc/systemd/journald.conf": "[Journal]\nForwardToConsole=no\n",
	"etc/systemd/system/lab-run.service": `[Unit]
Description=Run the script of this boot
[Service]
Type=exec
ExecStart=/usr/local/lib/lab/run
[Install]
WantedBy=multi-user.target
`,
	"usr/local/lib/lab/run": runner,
	// networkd manages the uplink, as in the images of clouds. The addresses come from the kernel's
	// command line.
	"etc/systemd/system/lab-network.service": `[Unit]
Description=Write the uplink's configuration
DefaultDependencies=no
RequiresMountsFor=/run
Before=systemd-networkd.service
[Service]
Type=oneshot
ExecStart=/usr/local/lib/lab/network
[Install]
WantedBy=systemd-networkd.service
`,
	"usr/local/lib/lab/network": `#!/bin/sh
mkdir -p /run/systemd/network
exec >/run/systemd/network/10-uplink.network
printf '[Match]\nType=ether\nKernelCommandLine=lab.network\n[Network]\nIPv6AcceptRA=no\n'
for word in $(cat /proc/cmdline); do
	case $word in
	lab.address=*) printf '[Address]\nAddress=%s\nDuplicateAddressDetection=none\n' "${word#*=}" ;;
	lab.gateway=*) printf '[Route]\nGateway=%s\n' "${word#*=}" ;;
	esac
done
`,
	"etc/systemd/system.conf.d/lab.conf":       "[Manager]\nDefaultTimeoutStartSec=300\nDefaultTimeoutStopSec=60\n", // emulation is slow
	"etc/udev/rules.d/80-net-setup-link.rules": "",                                                                  // eth0, as it comes
}

const script = rootfs.DropUnits + `
systemctl -q enable lab-run.service lab-network.service systemd-networkd.service
systemctl -q disable containerd.service systemd-networkd-wait-online.service
systemctl -q mask systemd-tmpfiles-clean.timer systemd-timesyncd.service systemd-logind.service systemd-network-generator.service \
	sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount dev-mqueue.mount dev-hugepages.mount \
	modprobe@configfs.service modprobe@dm_mod.service modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service
` + kernelScript + `
printf '0123456789abcdef0123456789abcdef\n' >/etc/machine-id
rm -rf /etc/resolv.conf /debootstrap /var/log/bootstrap.log /var/cache/apt/* /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
mkdir -p /var/log/journal
`

// Disk is a disk from which a VM boots.
type Disk struct{ Root, Kernel, Initrd string }

// Image returns a disk with this machine's own release and its distribution's kernel for clouds,
// with all modules of that kernel. It is built once and cached, and VMs write to copies. Image
// fails or skips the test if it cannot be built.
func Image(t testing.TB) Disk {
	t.Helper()
	needs.Arch(t, "amd64")
	needs.Tool(t, "mke2fs", "qemu-system-x86_64", "qemu-img")
	system := rootfs.System(t)
	return diskIn(cache.Built(t, "vm", cache.Key(recipe, rootfs.DropUnits, kernelRecipe, runner, system), func(dir string) error {
		return build(context.Background(), dir, system, nil)
	}))
}

// diskIn is the disk that finish made.
func diskIn(dir string) Disk {
	return Disk{Root: filepath.Join(dir, "root.img"), Kernel: filepath.Join(dir, "vmlinuz"), Initrd: filepath.Join(dir, "initrd.img")}
}

// build makes a disk in dir. more is done to its root at the end, if anything.
func build(ctx context.Context, dir, system string, more func(root string) error) error {
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("making the image's root: %w", err)
	}
	if err := rootfs.Copy(ctx, system, root); err != nil {
		return err
	}
	if err := errors.Join(rootfs.WriteFiles(root, files), rootfs.WriteFiles(root, kernelFiles)); err != nil {
		return err
	}
	if err := rootfs.Chroot(ctx, root, script); err != nil {
		return err
	}
	if more != nil {
		if err := more(root); err != nil {
			return err
		}
	}
	return finish(ctx, dir, root)
}

// finish takes the kernel out of a root, and makes a disk of the rest.
func finish(ctx context.Context, dir, root string) error {
	for _, name := range []string{"vmlinuz", "initrd.img"} {
		if err := os.Rename(filepath.Join(root, "boot", name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("taking the kernel out: %w", err)
		}
	}
	if err := errors.Join(makeDisk(ctx, filepath.Join(dir, "root.img"), root, "3g"), os.RemoveAll(root)); err != nil {
		return fmt.Errorf("writing the disk: %w", err)
	}
	return nil
}

// makeDisk writes an ext4 file system that holds what is in dir, without a mount and sparse.
func makeDisk(ctx context.Context, path, dir, size string) error {
	out, err := exec.CommandContext(ctx, "mke2fs", "-q", "-t", "ext4", "-d", dir, path, size).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mke2fs: %w\n%s", err, out)
	}
	return nil
}
