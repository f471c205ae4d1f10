package vm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rootfs"
)

//go:embed stock.go
var stockRecipe string // whatever is written here decides what a stock image holds

// stock is what a cloud's image of this distribution is beside its packages: networkd has the
// network that cloud-init writes.
const stock = `
systemctl -q enable systemd-networkd.service containerd.service
systemctl -q disable systemd-networkd-wait-online.service # cloud-init waits itself
systemctl -q mask apt-daily.timer apt-daily-upgrade.timer # nothing is out there
` + kernelScript + `
rm -rf /usr/local/lib/lab /etc/hostname /debootstrap /var/log/bootstrap.log
truncate -s 0 /etc/machine-id
mkdir -p /var/log/journal
`

// Stock returns a disk with this machine's own release as it comes, its containerd and its
// cloud-init, all of them untouched. Nothing of ours is on it: what a test runs there comes by
// cloud-init too (Options.Cloud). It is built once and cached; VMs write to copies.
func Stock(t testing.TB) Disk {
	t.Helper()
	needs.Arch(t, "amd64")
	needs.Tool(t, "mke2fs", "qemu-system-x86_64", "qemu-img", "genisoimage")
	system := rootfs.System(t)
	dir := cache.Built(t, "vm-stock", cache.Key(stockRecipe, kernelRecipe, system), func(dir string) error {
		ctx, root := context.Background(), filepath.Join(dir, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			return fmt.Errorf("making the image's root: %w", err)
		}
		if err := rootfs.Copy(ctx, system, root); err != nil {
			return err
		}
		if err := rootfs.Install(ctx, root, "cloud-init"); err != nil {
			return err
		}
		hosts := map[string]string{"etc/hosts": "127.0.0.1 localhost\n::1 localhost\n", "etc/fstab": ""}
		if err := errors.Join(rootfs.WriteFiles(root, hosts), rootfs.WriteFiles(root, kernelFiles)); err != nil {
			return err
		}
		if err := rootfs.Chroot(ctx, root, stock); err != nil {
			return err
		}
		return finish(ctx, dir, root)
	})
	return Disk{Root: filepath.Join(dir, "root.img"), Kernel: filepath.Join(dir, "vmlinuz"), Initrd: filepath.Join(dir, "initrd.img")}
}
