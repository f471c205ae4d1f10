package vm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rootfs"
)

//go:embed selinux.go
var selinuxRecipe string // whatever is written here decides which labels an image has

// labels is run with mounts of its own, when nothing is written any more: setfiles finds its files
// by /proc. To label them in the machine would take minutes.
const labels = `
printf 'SELINUX=enforcing\nSELINUXTYPE=default\n' >/etc/selinux/config
mount -t proc proc /proc
setfiles -F -e /proc /etc/selinux/default/contexts/files/file_contexts /
`

// enforcing is Image with the distribution's SELinux policy, a module beside it (CIL), and labels
// as the policy wants them. To make the policy costs half a minute of a processor, once.
func enforcing(t testing.TB, module string) Disk {
	t.Helper()
	needs.Arch(t, "amd64")
	needs.Tool(t, "mke2fs", "qemu-system-x86_64", "qemu-img")
	system := rootfs.System(t)
	return diskIn(cache.Built(t, "vm-selinux", cache.Key(selinuxRecipe, module, recipe, rootfs.DropUnits, kernelRecipe, runner, system), func(dir string) error {
		ctx := context.Background()
		return build(ctx, dir, system, func(root string) error {
			if err := rootfs.Install(ctx, root, "selinux-policy-default", "policycoreutils"); err != nil {
				return err
			}
			if err := errors.Join(rootfs.WriteFiles(root, map[string]string{"root/module.cil": module}), rootfs.Chroot(ctx, root, "semodule -N -i /root/module.cil")); err != nil {
				return err
			}
			out, err := exec.CommandContext(ctx, "unshare", "--mount", "chroot", root, "/bin/sh", "-euc", labels).CombinedOutput()
			if err != nil {
				return fmt.Errorf("labelling the image: %w: %s", err, out)
			}
			return nil
		})
	}))
}
