package vm

import _ "embed"

//go:embed kernel.go
var kernelRecipe string // whatever is written here decides how an image boots

// kernelFiles are in an image while kernelScript takes the kernel that a root has, with all of its
// modules, to where qemu loads it from.
var kernelFiles = map[string]string{
	// The distribution's initial RAM disk runs udev and fsck and costs four seconds; this one loads
	// what the root disk needs.
	"usr/local/lib/lab/init": `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
while read -r insmod module; do /bin/busybox $insmod $module; done </modules
until [ -b /dev/vda ]; do /bin/busybox usleep 10000; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /sbin/init
`,
	"usr/local/lib/lab/make-initrd": `#!/bin/sh
set -eu
dir=$(mktemp -d)
release=$(ls /lib/modules)
mkdir -p $dir/bin $dir/dev $dir/root
cp /bin/busybox $dir/bin/
cp /usr/local/lib/lab/init $dir/init
for module in virtio_pci virtio_blk ext4; do
	modprobe --set-version $release --show-depends $module
done | awk '$1 == "insmod" && !seen[$2]++ { print $1, $2 }' >$dir/modules
while read -r _ module; do
	mkdir -p $dir/${module%/*}
	cp $module $dir/$module
done <$dir/modules
cd $dir
find . | cpio --quiet -o -H newc | gzip -1 >/boot/initrd.img
rm -rf $dir
`,
}

const kernelScript = `
/usr/local/lib/lab/make-initrd
mv /boot/vmlinuz-* /boot/vmlinuz
`
