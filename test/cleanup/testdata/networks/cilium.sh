move_local 100
left "rule:ipv4 1 fwmark 0xd00/0xf00 lookup 200" ip rule add pref 1 fwmark 0xd00/0xf00 lookup 200 proto kernel
left "rule:ipv4 1 fwmark 0xe00/0xf00 lookup 200" ip rule add pref 1 fwmark 0xe00/0xf00 lookup 200 proto kernel
left "rule:ipv4 9 fwmark 0x200/0xf00 lookup 2004" ip rule add pref 9 fwmark 0x200/0xf00 lookup 2004 proto kernel
left "rule:ipv4 10 fwmark 0xa00/0xf00 lookup 2005" ip rule add pref 10 fwmark 0xa00/0xf00 lookup 2005 proto kernel
left "rule:ipv6 10 fwmark 0xb00/0xf00 lookup 2005" ip -6 rule add pref 10 fwmark 0xb00/0xf00 lookup 2005 proto kernel
left "rule:ipv4 20 to 10.244.1.7/32 lookup 254" ip rule add pref 20 to 10.244.1.7 lookup main
left "rule:ipv4 109 fwmark 0x80/0x80 lookup 254" ip rule add pref 109 fwmark 0x80/0x80 lookup main
left "rule:ipv4 111 from 10.244.1.7/32 lookup 11" ip rule add pref 111 from 10.244.1.7 lookup 11 proto kernel
left "rule:ipv4 111 from 10.250.1.7/32 lookup 11" ip rule add pref 111 from 10.250.1.7 lookup 11 proto kernel
left "rule:ipv4 110 from 10.244.1.7/32 to 10.77.0.0/24 lookup 11" ip rule add pref 110 from 10.244.1.7 to 10.77.0.0/24 lookup 11
left "rule:ipv4 112 to 10.244.5.0/24 lookup 202" ip rule add pref 112 to 10.244.5.0/24 lookup 202
pair cilium_host cilium_net
ip addr add 10.244.1.1/32 dev cilium_host
link cilium_vxlan type vxlan external dstport 8472; pair cilium_health cilium_peer
pod lxc0123456789ab; pod lxc_health; pod lxc0a1b2
left route:254/10.244.1.7/32 ip route add 10.244.1.7/32 dev lxc0123456789ab
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.244.1.254 dev cilium_host proto kernel src 10.244.1.1 onlink
left route:254/10.244.3.0/24 ip route add 10.244.3.0/24 via 10.77.0.1 proto kernel
left route:200/10.244.4.0/24 ip route add 10.244.4.0/24 dev cilium_host table 200
left route:200/10.77.0.11/32 ip route add local 10.77.0.11/32 dev host0 table 200 proto 50
left route:202/10.244.5.0/24 ip route add 10.244.5.0/24 dev cilium_host table 202
left route:2004/0.0.0.0/0 ip route add local 0.0.0.0/0 dev lo table 2004 proto kernel
left "route:2004/::/0 metric 1024" ip -6 route add local ::/0 dev lo table 2004 proto kernel
left route:2005/0.0.0.0/0 ip route add default via 10.244.1.254 dev cilium_host table 2005 onlink
left route:11/0.0.0.0/0 ip route add default via 10.77.0.1 table 11 proto kernel; left route:11/10.77.0.1/32 ip route add 10.77.0.1/32 dev host0 scope link table 11 proto kernel
for c in "filter CILIUM_INPUT" "filter CILIUM_OUTPUT" "filter CILIUM_FORWARD" "nat CILIUM_POST_nat" "nat CILIUM_OUTPUT_nat" "nat CILIUM_PRE_nat" "mangle CILIUM_POST_mangle" "mangle CILIUM_PRE_mangle" \
	"raw CILIUM_OUTPUT_raw" "raw CILIUM_PRE_raw" "filter OLD_CILIUM_INPUT"; do chain $c; chain6 $c; done
rule filter FORWARD -m comment --comment "cilium-feeder: CILIUM_FORWARD" -j CILIUM_FORWARD; rule filter INPUT -m comment --comment "cilium-feeder: CILIUM_INPUT" -j CILIUM_INPUT
rule raw OUTPUT -m comment --comment "cilium-feeder: CILIUM_OUTPUT_raw" -j CILIUM_OUTPUT_raw; rule6 nat POSTROUTING -m comment --comment "cilium-feeder: CILIUM_POST_nat" -j CILIUM_POST_nat
within nat CILIUM_POST_nat -s 10.244.1.0/24 ! -o cilium_+ -m comment --comment "cilium masquerade non-cluster" -j MASQUERADE
set_ cilium_node_set_v4 hash:net; set_ cilium_node_set_v6 hash:net "family inet6"
within nat CILIUM_POST_nat -m set --match-set cilium_node_set_v4 dst -j RETURN
program cil_from_netdev host0 ingress; program cil_to_netdev host0 egress
./pin xdp cil_xdp_entry /sys/fs/bpf/proof/xdp; left "ebpf:xdp cbr1 cil_xdp_entry" ip link set dev cbr1 xdpgeneric pinned /sys/fs/bpf/proof/xdp; rm /sys/fs/bpf/proof/xdp
left "ebpf:cgroup $(./cgroup) cgroup_inet4_connect cil_sock4_conne" ./pin cgroup cil_sock4_connect "$(./cgroup)"
mkdir -p /sys/fs/bpf/cilium/devices/host0/links; ./pin tc cil_a /sys/fs/bpf/cilium/devices/host0/links/x; echo file:/sys/fs/bpf/cilium
./pin tc cil_b /sys/fs/bpf/tc/globals/cilium_calls; echo file:/sys/fs/bpf/tc/globals/cilium_calls
state 10.77.0.11 10.77.0.12 0x3 "state 10.77.0.11/32 10.77.0.12/32 spi 0x3 mark 0x12343e00/0xffffff00 reqid 1" reqid 1 mode tunnel mark 0x12343e00 mask 0xffffff00
state 10.77.0.12 10.77.0.11 0x4 "state 10.77.0.12/32 10.77.0.11/32 spi 0x4 mark 0x12340d00/0xffff0f00 reqid 1" reqid 1 mode tunnel mark 0x12340d00 mask 0xffff0f00
left "xfrm:policy out 10.244.1.0/24 10.244.2.0/24 spi 0x3 mark 0x12343e00/0xffffff00 reqid 1" ip xfrm policy add src 10.244.1.0/24 dst 10.244.2.0/24 dir out mark 0x12343e00 mask 0xffffff00 tmpl src 10.77.0.11 dst 10.77.0.12 proto esp spi 0x3 reqid 1 mode tunnel
left "xfrm:policy in 0.0.0.0/0 10.244.1.0/24 mark 0xd00/0xf00 reqid 1" ip xfrm policy add src 0.0.0.0/0 dst 10.244.1.0/24 dir in mark 0xd00 mask 0xf00 tmpl src 0.0.0.0 dst 10.77.0.11 proto esp reqid 1 mode tunnel
left "xfrm:policy in 0.0.0.0/0 10.244.1.0/24 mark 0x200/0xf00 reqid 1" ip xfrm policy add src 0.0.0.0/0 dst 10.244.1.0/24 dir in mark 0x200 mask 0xf00 tmpl src 0.0.0.0 dst 10.77.0.11 proto esp reqid 1 mode tunnel level use
left "xfrm:policy fwd 0.0.0.0/0 10.244.1.0/24 reqid 1" ip xfrm policy add src 0.0.0.0/0 dst 10.244.1.0/24 dir fwd priority 2975 tmpl src 0.0.0.0 dst 10.77.0.11 proto esp reqid 1 mode tunnel level use
left "xfrm:policy out 0.0.0.0/0 0.0.0.0/0 mark 0xe00/0xf00" ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out priority 100 mark 0xe00 mask 0xf00 action block
file /etc/cni/net.d/05-cilium.conflist; file /etc/cni/net.d/05-cilium.conf; file /etc/cni/net.d/10-cilium-cni.conf; file /etc/cni/net.d/00-cilium-cni.conf; file /etc/cni/net.d/05-cilium-cni.conf
mv /etc/cni/net.d/99-podman.conflist /etc/cni/net.d/99-podman.conflist.cilium_bak; echo file:/etc/cni/net.d/99-podman.conflist.cilium_bak; echo file:/etc/cni/net.d/99-podman.conflist
ip netns add cilium-health; systemctl daemon-reload; printf '%s\n' 'unit:run-netns-cilium\x2dhealth.mount'; echo file:/run/netns/cilium-health
file /etc/sysctl.d/99-zzz-override_cilium.conf; file /opt/cni/bin/cilium-cni; file /opt/cni/bin/cilium-mount; file /opt/cni/bin/cilium-sysctlfix
mkdir -p /run/cilium/cgroupv2; mount -t tmpfs none /run/cilium/cgroupv2; systemctl daemon-reload; echo unit:run-cilium-cgroupv2.mount
echo file:/run/cilium; echo left >/run/cilium/state; dir /var/lib/cilium
file /etc/systemd/system/run-cilium-cgroupv2.mount
portmap cilium
