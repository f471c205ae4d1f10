# Things of other owners, and names one letter off. Nothing here may change.
# Every table is there, with something of kube-proxy's, of docker's and of a person's.
for p in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do
	for t in raw mangle nat filter; do
		$p -t $t -N KUBE-SERVICES; $p -t $t -A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
		for c in cali_FORWARD CILIUM-FORWARD FLANNEL_FWD KUBE_ROUTER-X AWS-SNAT_CHAIN-0 WEAVES CNI_HOSTPORT-DNAT ANTREAS OVN_X; do $p -t $t -N $c; $p -t $t -A $c -j RETURN; $p -t $t -A OUTPUT -j $c; done
	done
	for t in raw mangle nat; do $p -t $t -A PREROUTING -m comment --comment "cali_1" -j RETURN; done
	$p -A FORWARD -i docker0 -j ACCEPT; $p -A FORWARD -o kube-bridg -j ACCEPT; $p -A FORWARD -o weav -j DROP; $p -A INPUT -m comment --comment "flanneld_masq" -j RETURN
	$p -t nat -A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-SERVICES
	$p -t nat -A POSTROUTING -m comment --comment "my own: kubenet" -o host0 -j MASQUERADE
done
ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up
ip link add br0 type bridge; ip link add lxcbr0 type bridge; ip link add cni1 type bridge; ip link add cbr1 type bridge
ip link add vethdocker1 type veth peer name eth0 netns pods; ip link set vethdocker1 master docker0 up; ip -n pods link set eth0 name d1
for l in calx1 cilium_hosx flannel.2 vxlan.calicx lxc0123456789ag kube-bridg wg0x enix1 vlanx1 knex1 azx1 hybx1; do ip link add $l type bridge; done
ip link add vethother type veth peer name eth0 netns pods; ip link set vethother up; ip -n pods link set eth0 name o1; ip route add 192.168.55.7/32 dev vethother
ip route add 10.99.11.0/24 dev docker0 src 172.17.0.1 table 11 proto kernel # as the kernel adds to a VRF's table
for r in "10.99.1.0/24 via 10.77.0.1" "10.99.2.0/24 via 10.77.0.1 proto 18" "blackhole 10.99.3.0/24 proto 81" "10.99.4.0/24 via 10.77.0.1 proto 13" \
	"10.99.5.0/24 via 10.77.0.1 table 201" "10.99.6.0/24 via 10.77.0.1 table 76" "10.99.7.0/24 via 10.77.0.1 table 1" "10.99.8.0/24 via 10.77.0.1 table 2003"; do ip route add $r; done
ip rule add pref 98 fwmark 0x200000/0x200000 lookup 1; ip rule add pref 1000 from 10.99.0.9 lookup 201; ip rule add pref 511 to 10.99.0.8 lookup main; ip rule add pref 2001 lookup 76
ip rule add pref 1535 from 10.99.0.12 lookup main; ip rule add pref 1534 to 10.99.0.12 lookup main; ip rule add pref 1535 to 10.99.0.13 lookup 201
ip rule add pref 10001 from 10.99.0.10 lookup 10001; ip route add 10.99.9.0/24 via 10.77.0.1 table 10001 # as ec2-net-utils has for a second interface
ip rule add pref 108 fwmark 0x80/0x80 lookup 201
for t in "ip calicx" "ip6 calico-x" "inet kindnet-x" "ip flannel-ipv5" "inet mine" "ip aws-cnx" "ip antrex"; do nft add table $t; done
for s in cali50s:x cilium_node_set_v5 kube-router-x KUBE-CLUSTER-IP weav-x ovn41x azure-npx; do ipset create $s hash:ip; done
iptables-nft -t nat -A POSTROUTING -m set --match-set kube-router-x src -j RETURN
ip xfrm state allocspi src 192.0.2.1 dst 192.0.2.9 proto esp reqid 12 min 0x901 max 0x901 >/dev/null
ip xfrm policy add src 192.0.2.1 dst 192.0.2.9 dir out mark 0xc00 mask 0xf00 tmpl src 192.0.2.1 dst 192.0.2.9 proto esp reqid 12 mode tunnel
# A person's strongSwan has counted to flannel's number.
ip xfrm state allocspi src 192.0.2.1 dst 192.0.2.8 proto esp reqid 11 min 0x902 max 0x902 >/dev/null
ip xfrm policy add src 172.16.0.0/24 dst 10.66.0.0/24 dir out tmpl src 192.0.2.1 dst 192.0.2.8 proto esp reqid 11 mode tunnel
./pin tc cix_from_netdev /sys/fs/bpf/proof/other; mkdir -p /sys/fs/bpf/own/deep; ./pin tc cix_y /sys/fs/bpf/own/deep/calix_v4; tc qdisc add dev host0 clsact; tc filter add dev host0 ingress bpf direct-action object-pinned /sys/fs/bpf/proof/other
printf '254\tmain\n253\tdefault\n76\tkube-router\n77\tkube-routers\n19 romana\n200 mgmt\n' >/etc/iproute2/rt_tables
# A second uplink, in each of the tables that networks take: an address of its own for each, a rule from it, and a default route. Hybridnet alone takes tables that are
# empty. Behind it is 198.51.100.1, to which nothing else leads.
ip netns add mgmt; ip link add up1 type veth peer name up1 netns mgmt; ip link set up1 up
ip -n mgmt -batch - <<END
link set lo up
addr add 198.51.100.1/32 dev lo
addr add 10.78.0.1/24 dev up1
link set up1 up
END
n=0
for t in 200 202 2004 2005 12 77 78 79 7 10 116 119 141 102 3 257; do
	a=10.78.0.$((100 + n)); echo "$t $a" >>/run/proof/uplink
	ip addr add $a/32 dev up1; ip rule add pref $((3000 + n)) from $a lookup $t; ip route add default via 10.78.0.1 dev up1 onlink table $t metric 77; n=$((n + 1))
done
ip rule add pref 32765 from 10.77.0.51 lookup 4; ip route add default via 10.77.0.1 table 4 # as the kernel gives priorities, and the VPC plugin
# Links that need a module, or daemons of Open vSwitch, which a node of the lab has not: they stay.
for l in ovn-k8s-mp0 antrea-gw0 tun-fedcba98765; do ip link add $l type bridge; ip link set $l up; done
# Ports that podman publishes by plugin portmap, which has its chains and tables for all networks: 8088 by iptables-nft, 8089 by iptables-legacy, 8090 by nft.
ip netns add podman; ip link add podman0 type bridge forward_delay 0; ip link add vethpodman1 type veth peer name eth0 netns podman; ip link set vethpodman1 master podman0 up
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip -batch - <<END
addr add 10.88.0.1/16 dev podman0
addr add fd88::1/64 dev podman0 nodad
addr add fe80::1/64 dev podman0 nodad
link set podman0 up
END
ip -n podman -batch - <<END
link set lo up
addr add 10.88.0.2/16 dev eth0
addr add fd88::2/64 dev eth0 nodad
link set eth0 up
route add default via 10.88.0.1
route add default via fd88::1
END
for p in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do
	case $p in ip6*) to='[fd88::2]' ;; *) to=10.88.0.2 ;; esac
	case $p in *nft) port=8088 ;; *) port=8089 ;; esac
	for c in CNI-HOSTPORT-DNAT CNI-HOSTPORT-SETMARK CNI-HOSTPORT-MASQ CNI-DN-fedcba98765432100123a; do $p -t nat -N $c; done
	$p -t nat -A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000
	$p -t nat -A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
	$p -t nat -I POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
	for c in PREROUTING OUTPUT; do $p -t nat -I $c -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT; done
	$p -t nat -A CNI-DN-fedcba98765432100123a -p tcp --dport $port -j CNI-HOSTPORT-SETMARK; $p -t nat -A CNI-DN-fedcba98765432100123a -p tcp --dport $port -j DNAT --to-destination "$to:80"
	$p -t nat -A CNI-HOSTPORT-DNAT -p tcp -m comment --comment 'dnat name: "podman" id: "f00d"' -m multiport --destination-ports $port -j CNI-DN-fedcba98765432100123a
done
for f in ip:10.88.0.2 'ip6:[fd88::2]'; do
	nft -f - <<END
table ${f%%:*} cni_hostport {
	comment "CNI portmap plugin"
	chain hostports { tcp dport 8090 dnat to ${f#*:}:80 comment "f00d"; }
	chain hostip_hostports { }
	chain hostports_all { jump hostip_hostports; jump hostports; }
	chain prerouting { type nat hook prerouting priority dstnat; fib daddr type local jump hostports_all; }
	chain output { type nat hook output priority -100; fib daddr type local jump hostports_all; }
	chain masquerading { type nat hook postrouting priority srcnat; }
}
END
done
printf '{"kind":"cniCacheV1","config":"%s"}' "$(printf '{"name":"podman","plugins":[{"type":"bridge"},{"type":"portmap"}]}' | base64 -w0)" >/var/lib/cni/results/podman-f00d-eth0
for f in /etc/cni/net.d/99-loopback.conf /etc/cni/net.d/10-calico.conflisu /etc/cni/net.d/calico-kubeconfig.old /opt/cni/bin/bridge /opt/cni/bin/host-local /opt/cni/bin/loopback /opt/cni/bin/portmap \
	/opt/cni/bin/calicox /etc/sysctl.d/99-zzz.conf /sys/fs/bpf/proof.keep /run/cni.keep; do case $f in /sys/*) ;; *) echo decoy >$f ;; esac; done
printf '{"cniVersion":"0.4.0","name":"decoy-loopback","type":"loopback"}' >/etc/cni/net.d/99-loopback.conf # a broken one is a failure where no other is
printf '{"cniVersion":"0.4.0","name":"decoy","plugins":[{"type":"loopback"}]}' >/etc/cni/net.d/99-podman.conflist
mkdir -p /var/lib/calicx /var/lib/ciliumx /run/flannelx /var/lib/cni/networks/other /sys/fs/bpf/ciliumx; echo d >/var/lib/calicx/nodename
echo 10.0.0.9 >/var/lib/cni/networks/other/10.0.0.9
printf 'nameserver 10.77.0.1\n' >/etc/resolv.conf
