#!/bin/sh
# Installs what the test suites need of this machine, or says what is missing. Idempotent, and quick where all is there.
# As root on Debian or Ubuntu it installs; anywhere else it lists and exits 1, and the suites skip what they cannot run.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# command           Debian package      what for
needed='
systemd-nspawn      systemd-container   nodes (test/node)
debootstrap         debootstrap         root file systems of nodes and VMs
ip                  iproute2            namespaces, independent reading of links and routes
nft                 nftables            independent reading of the ruleset
iptables-nft        iptables            hosts whose firewall drops what they forward
ipset               ipset               sets that networks leave behind, made by their own program
mkfs.xfs            xfsprogs            a file system that loses what is not synced (test/torture)
strace              strace              proof that a dry run does not write
minisign            minisign            signatures, made and checked by another implementation
gpg                 gpg                 signatures of packages, checked as their users do
gpg-agent           gpg-agent           keys for that
gpgconf             gpgconf             to end it
debsig-verify       debsig-verify       the signature of a .deb
qemu-aarch64        qemu-user           packages for arm64, run (test/packages)
cpio                cpio                what is in an .rpm
rpm                 rpm                 packages, installed by what installs them (test/packages)
nsenter             util-linux          running inside of nodes
depmod              kmod                list of built-in modules
qemu-system-x86_64  qemu-system-x86     VMs (test/vm)
qemu-img            qemu-utils          VM disks
mke2fs              e2fsprogs           VM disks
genisoimage         genisoimage         what a cloud tells a VM (test/vm)
sfdisk              fdisk               partitions of images (images/build)
debugfs             e2fsprogs           what is on an image, without a mount
shellcheck          shellcheck          what cloud-init runs is clean
dash                dash                the smallest shell that runs it
c++                 g++                 race detector, flanneld (test/assets): a C compiler, headers and static C library
'

commands='' packages=''
while read -r command package _; do
	[ -n "$command" ] || continue
	command -v "$command" >/dev/null 2>&1 || { commands="$commands $command" packages="$packages $package"; }
done <<END
$needed
END
[ -n "$commands" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "test/setup.sh: missing:$commands. As root: apt-get install --no-install-recommends$packages" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "test/setup.sh: missing:$commands. Not Debian or Ubuntu: install them with this distribution's own tools" >&2
	exit 1
fi

echo "test/setup.sh: installing$packages" >&2
export DEBIAN_FRONTEND=noninteractive
# Package lists may be absent (fresh images) or older than the mirror: update only when the install does not work without.
# shellcheck disable=SC2086 # the packages are words
install() { apt-get install -qq -y --no-install-recommends $packages >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; }
