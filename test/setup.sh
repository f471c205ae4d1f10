#!/bin/sh
# Checks that this machine has what the test suites need, and installs the programs, or says what is missing. Idempotent, and quick where all is there.
# As root on Debian or Ubuntu it installs; anywhere else it lists and exits 1, and the suites skip what they cannot run. It changes nothing of the
# machine but its packages: what is short it says, with the number there is, the number needed and the command that mends it, and exits 1.
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

# What the suites take at once: they boot up to 8 nodes side by side.
# A booted node has 8 inotify instances, 5 of its systemd and one each of dbus-daemon, logind and containerd, all of this machine's root; 4 more are for agent,
# kubelet, containers (cgroup v2) and what systemd starts, which has copies of its until it execs. Of watches a node has 100: they are never short.
instances=96
# Compilers with the race detector and linkers take up to 1 GB each, a VM 1 GB, nodes little. Three runs of the suites at once took 4.3 GB.
memory=3072 # MB
# The cache has root file systems, images of VMs and servers built from source. Usually beside it is Go's own, of as much again (and thrice that with
# make test-kubernetes). TMPDIR has what Go builds and the disks of VMs.
cache=3072 go_cache=3072 tmp=2048 # MB

root=$([ "$(id -u)" != 0 ] || echo yes)
short=''
lacks() { # what there is and what is needed, what to do
	short=yes
	echo "test/setup.sh: $1. $2" >&2
}

# All that this machine's root has counts, in whichever container. What has another user id here does not, though the kernel charges containers with user
# namespaces of their own to who made them, too. Only root may look.
check_inotify() {
	limit=$(cat /proc/sys/fs/inotify/max_user_instances)
	used=0
	for pid in $(find /proc/[0-9]*/fd -lname anon_inode:inotify 2>/dev/null | cut -d / -f 3); do
		! grep -qs '^Uid:	0	' "/proc/$pid/status" || used=$((used + 1))
	done
	free=$((limit - used))
	[ "$free" -ge "$instances" ] || lacks "$free inotify instances of $limit are free for root, and the nodes of the suites need $instances" \
		"As root: sysctl -w fs.inotify.max_user_instances=1024"
}

check_memory() {
	available=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo) / 1024))
	[ "$available" -ge "$memory" ] || lacks "$available MB of memory are available, and the suites need $memory" \
		"End what takes it (ps -eo rss,pid,args --sort=-rss | head), or take a larger machine"
}

# above is a directory, or what of its path is there.
above() {
	dir=$1
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	echo "$dir"
}

# missing is the MB that the cache of the tests does not have yet: what an earlier run left there takes no more space.
missing() {
	present=$(du -sm "$1" 2>/dev/null | cut -f 1)
	[ "${present:-0}" -ge $cache ] && echo 0 || echo $((cache - ${present:-0}))
}

# space is the free MB of a directory's file system, and where that is mounted.
space() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024), $6 }'; }

check_disk() {
	home=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}
	in_cache=${NETWRIGHT_CACHE:-$home/netwright} in_tmp=${TMPDIR:-/tmp}
	cache_needs=$(($(missing "$in_cache") + go_cache))
	cache_space=$(space "$(above "$in_cache")") tmp_space=$(space "$(above "$in_tmp")")
	if [ "${cache_space#* }" = "${tmp_space#* }" ]; then # one file system has both
		[ "${cache_space% *}" -ge $((cache_needs + tmp)) ] || lacks "${cache_space% *} MB are free for $in_cache and $in_tmp, and the suites need $((cache_needs + tmp))" \
			"Free some (go clean -cache; rm -r $in_cache, while no test runs), or set NETWRIGHT_CACHE and TMPDIR to directories of larger file systems"
		return
	fi
	[ "${cache_space% *}" -ge "$cache_needs" ] || lacks "${cache_space% *} MB are free for $in_cache, and the suites need $cache_needs" \
		"Free some (rm -r $in_cache, while no test runs), or set NETWRIGHT_CACHE to a directory of a larger file system"
	[ "${tmp_space% *}" -ge "$tmp" ] || lacks "${tmp_space% *} MB are free for $in_tmp, and the suites need $tmp" \
		"Free some, or set TMPDIR to a directory of a larger file system"
}

# A node gets a group in each hierarchy there is: one for each controller (v1), one for all (v2), or both kinds. Whether root may make one is known when it did.
check_cgroups() {
	hierarchies=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i + 1) ~ /^cgroup2?$/ && !seen[$5]++) print $5 }' /proc/self/mountinfo)
	[ -n "$hierarchies" ] || lacks "0 cgroup hierarchies are mounted, and nodes need one" "As root: mount -t cgroup2 cgroup2 /sys/fs/cgroup"
	for hierarchy in $hierarchies; do
		group=$hierarchy/nwt-setup-$$
		if why=$(LC_ALL=C mkdir "$group" 2>&1); then
			rmdir "$group"
		else
			lacks "nodes need a group in each cgroup hierarchy, and $hierarchy takes none: $why" \
				"As root: mount -o remount,rw,bind $hierarchy; a container needs --privileged --cgroupns=host"
		fi
	done
}

check_memory
check_disk
if [ -n "$root" ]; then # nodes are booted by root alone
	check_inotify
	check_cgroups
fi

commands='' packages=''
while read -r command package _; do
	[ -n "$command" ] || continue
	command -v "$command" >/dev/null 2>&1 || { commands="$commands $command" packages="$packages $package"; }
done <<END
$needed
END
[ -n "$commands$short" ] || exit 0

if [ -n "$commands" ] && [ -z "$root" ]; then
	echo "test/setup.sh: missing:$commands. As root: apt-get install --no-install-recommends$packages" >&2
	exit 1
fi
if [ -n "$commands" ] && ! command -v apt-get >/dev/null 2>&1; then
	echo "test/setup.sh: missing:$commands. Not Debian or Ubuntu: install them with this distribution's own tools" >&2
	exit 1
fi
[ -z "$short" ] || exit 1

# apt_get runs it, and again for as long as another package manager has a lock: unattended upgrades have one on every new machine of a cloud. Not by
# DPkg::Lock::Timeout: it knows neither the lock of the lists, which update takes, nor that of the archives, and with -qq waits without a word.
wait=${NETWRIGHT_APT_WAIT:-600} # seconds, for all
apt_get() {
	while ! said=$(LC_ALL=C apt-get -qq "$@" 2>&1 >/dev/null); do
		lock=$(echo "$said" | sed -n 's/^E: \(Could not get lock .*\)/\1/p' | head -n 1)
		[ -n "$lock" ] || return 1
		if [ "$(date +%s)" -ge "$end" ]; then
			said="$said
waited $wait s for another package manager: see what it does, or end it, and run this again"
			return 1
		fi
		[ "$lock" = "$waited" ] || echo "test/setup.sh: waits for another package manager, at most $wait s: $lock" >&2
		waited=$lock
		sleep 2
	done
}
install() {
	# shellcheck disable=SC2086 # the packages are words
	apt_get install -y --no-install-recommends $packages
}
failed() {
	echo "test/setup.sh: apt-get $1: $said" >&2
	exit 1
}

echo "test/setup.sh: installing$packages" >&2
export DEBIAN_FRONTEND=noninteractive
end=$(($(date +%s) + wait)) waited=''
# Package lists may be absent (fresh images) or older than the mirror: update only when the install does not work without.
install && exit
[ -z "$lock" ] || failed install
apt_get update || failed update
[ -z "$said" ] || echo "$said" >&2 # a mirror that does not answer is a warning, and then packages are unknown
install || failed install
