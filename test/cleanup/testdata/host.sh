# What a host is that a proof runs on, and what it can.
mountpoint -q /sys/fs/bpf || { mount -o remount,bind,rw /sys; mkdir -p /sys/fs/bpf; mount -t bpf bpf /sys/fs/bpf; }
for d in /etc/cni/net.d /opt/cni/bin /var/lib/cni/networks /var/lib/cni/results /var/lib/cni/cache/results /etc/NetworkManager/conf.d /etc/iproute2 /etc/udev/rules.d /etc/sysctl.d \
	/sys/fs/bpf/tc/globals /sys/fs/bpf/globals /sys/fs/bpf/proof /run/cni /run/proof /etc/containerd /opt/kops/bin /usr/share/iproute2 /usr/local/bin /etc/origin /srv/kubernetes /etc/rlog; do mkdir -p $d; done
ip netns add pods
for n in all default; do sysctl -qw net.ipv6.conf.$n.addr_gen_mode=1; done # no link-local addresses, which come when they like
if ! ip link show host0 >/dev/null 2>&1; then # a machine that is no node of the lab: a link to a world of its own
	ip netns add world
	ip link add host0 type veth peer name world0 netns world; ip addr add 10.77.0.11/24 dev host0; ip link set host0 up
	ip -n world addr add 10.77.0.1/24 dev world0; ip -n world link set world0 up
	printf 'all of the world' >/run/proof/world
fi
for m in openvswitch ip_vs; do if modprobe -q $m 2>/dev/null && [ -e /sys/module/$m ]; then touch /run/proof/can-$m; fi; done
sysctl -qw net.core.xfrm_acq_expires=100000
if ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x999 mode tunnel enc "cbc(aes)" 0x01020304050607080910111213141516 2>/dev/null; then touch /run/proof/can-esp; fi
# The kernel's own tunl0 and ip6tnl0 are those without an address.
for kind in dummy "ipip local 192.0.2.1 remote 192.0.2.2" "ip6tnl local 2001:db8::1 remote 2001:db8::2" wireguard "geneve external" netkit ifb "vlan id 9" "xfrm if_id 9" "vrf table 9" tun; do
	case $kind in tun) set -- tuntap add probe0 mode tun ;; vlan*) set -- link add link host0 name probe0 type $kind ;; *) set -- link add probe0 type $kind ;; esac
	if ip "$@" 2>/dev/null; then
		touch "/run/proof/can-${kind%% *}"
		ip link del probe0
	fi
done
if ip link set tunl0 up 2>/dev/null; then ip link set tunl0 down; fi # its first time up leaves it a queue
