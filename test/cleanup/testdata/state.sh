#!/bin/sh
# Prints all that a network could have left on this host, a line a thing, with nothing of ours.
export LC_ALL=C
section() { sed "s|^|$1: |"; }
# Whether a bridge has a carrier is a matter of time.
ip -o link | sed 's/^[0-9]*: //; s/<[^>]*>//; s/ state [A-Z]*//' | section link
ip -o addr | sed 's/^[0-9]*: //' | section address
for f in 4 6; do
	ip -$f route show table all | sed 's/ linkdown//' | section route$f
	ip -$f rule | section rule$f
done
nft -s list ruleset 2>/dev/null | section nft
for p in iptables ip6tables; do $p-legacy-save 2>/dev/null | sed '/^#/d; s/\[[0-9]*:[0-9]*\]//' | section $p-legacy; done
ipset save 2>/dev/null | sed 's/ initval [0-9a-fx]*//' | section ipset # a seed: kube-router makes everybody's sets anew, with the same in them
ip xfrm state | tr -d '\t\n' | sed 's/src/\nsrc/g' | sort -u | section xfrm
ip xfrm policy | section xfrm-policy
tc qdisc show 2>/dev/null | section qdisc
for l in $(ls /sys/class/net); do
	for way in ingress egress; do tc filter show dev $l $way 2>/dev/null | sed 's/ id [0-9]* .*//' | section "filter $l $way"; done
done
[ ! -e /proc/net/ip_vs ] || sed 's/ [0-9]* *[0-9]* *[0-9]* *$//' /proc/net/ip_vs | section ipvs
[ -z "${MODULES-}" ] || exit 0 # what needs a module is above
sysctl -a 2>/dev/null | grep '^net\.' | grep -v 'nf_conntrack_count\|random' | section sysctl
systemctl list-units --all --plain --no-legend --type service,mount,timer,socket | grep -v '^run-u\|^run-r\|\.scope\|^systemd-\|^modprobe@\|not-found' | awk '{ print $1, $2, $3, $4 }' | section unit
systemctl list-unit-files --no-legend --type service,mount,timer,socket | awk '{ print $1, $2 }' | section unit-file
find /etc /opt /usr/local /usr/share/iproute2 /var/lib /var/log /run /srv /sys/fs/bpf /tmp \
	\( -path /var/log/journal -o -path /run/systemd -o -path /run/log -o -path /run/udev -o -path /run/proof -o -path /run/user -o -path /var/lib/systemd -o -path /run/host \
	-o -path /var/lib/containerd -o -path /run/containerd -o -path '/tmp/systemd-*' \) -prune -o -printf '%y %m %u %g %p %l\n' | section file
find /etc /opt /var/lib/cni /usr/share/iproute2 -type f -exec sha256sum {} + | section content
