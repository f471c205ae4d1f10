mkdir -p /run/calico/cgroup; mount -t cgroup2 none /run/calico/cgroup 2>/dev/null || mount -t tmpfs none /run/calico/cgroup
systemctl daemon-reload
echo unit:run-calico-cgroup.mount
pod cali12345678901; ip route add 10.244.1.5/32 dev cali12345678901 scope link proto boot
link vxlan.calico type vxlan id 4096 dstport 4789 dev host0; ip addr add 10.244.1.64/32 dev vxlan.calico; ip link set vxlan.calico up
link vxlan-v6.calico type vxlan id 4097 dstport 4790 dev host0
pair bpfin.cali bpfout.cali; only ifb link:bwcali12345678 link bwcali12345678 type ifb
left route:254/10.244.2.0/26 ip route add 10.244.2.0/26 via 10.77.0.1 proto bird
left route:254/10.244.1.0/26 ip route add blackhole 10.244.1.0/26 proto bird
left route:254/10.244.3.0/26 ip route add 10.244.3.0/26 via 10.77.0.1 proto 80
left route:254/10.244.1.64/26 ip route add blackhole 10.244.1.64/26 proto 80
left route:1/10.244.9.0/26 ip route add 10.244.9.0/26 dev vxlan.calico table 1 proto 80
left "rule:ipv4 99 fwmark 0x200000/0x200000 lookup 1" ip rule add pref 99 not fwmark 0x200000/0x200000 lookup 1
left "rule:ipv6 99 fwmark 0x200000/0x200000 lookup 2" ip -6 rule add pref 99 not fwmark 0x200000/0x200000 lookup 2
for t in raw mangle nat filter; do chain $t cali-PREROUTING; chain6 $t cali-PREROUTING; within $t cali-PREROUTING -m comment --comment cali:aaaa -j RETURN
	rule $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; rule6 $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; done
for c in cali-INPUT cali-FORWARD cali-OUTPUT cali-failsafe-in cali-wl-to-host cali-from-wl-dispatch cali-tw-cali12345678901 cali-pi-_abc cali-pri-kns.default cali-cidr-block; do chain filter $c; done
within filter cali-FORWARD -j cali-cidr-block; within filter cali-from-wl-dispatch -i cali12345678901 -j cali-tw-cali12345678901
rule filter FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD; rule filter INPUT -m comment --comment "cali:Cz_u1IQiXIMmKD4c" -j cali-INPUT
rule filter FORWARD -m comment --comment "cali:S93hcgKJrXEqnTfs" -m comment --comment "Policy explicitly accepted packet." -m mark --mark 0x10000/0x10000 -j ACCEPT
for c in felix-FORWARD califw-x calitw-x califh-x calith-x calipi-x calipo-x; do chain filter $c; done
table ip calico; table ip6 calico; table arp calico-arp
set_ cali40all-ipam-pools hash:net; set_ cali60masq-ipam hash:net "family inet6"; set_ cali4tx hash:ip; set_ cali6tx hash:ip "family inet6"; set_ felix-4-x hash:ip; set_ felix-6-x hash:ip "family inet6"
within filter cali-FORWARD -m set --match-set cali40all-ipam-pools src -j RETURN
program cali_tc_preamble host0 ingress; program calico_to_host_ep host0 egress
./pin xdp cali_xdp_preamb /sys/fs/bpf/proof/cxdp; left "ebpf:xdp vxlan.calicx cali_xdp_preamb" ip link set dev vxlan.calicx xdpgeneric pinned /sys/fs/bpf/proof/cxdp; rm /sys/fs/bpf/proof/cxdp
left "ebpf:cgroup $(./cgroup) cgroup_inet4_connect calico_connect" ./pin cgroup calico_connect "$(./cgroup)"
./pin tc cali_x /sys/fs/bpf/tc/globals/cali_jump; echo file:/sys/fs/bpf/tc/globals/cali_jump
./pin tc cali_y /sys/fs/bpf/ctlb_v4; echo file:/sys/fs/bpf/ctlb_v4
mkdir -p /sys/fs/bpf/own/deep; for p in own/cali_v4 own/deep/calico_x own/deep/xdp_cali_y; do ./pin tc cali_w /sys/fs/bpf/$p; echo file:/sys/fs/bpf/$p; done
mkdir -p /sys/fs/bpf/calico/xdp; ./pin tc cali_z /sys/fs/bpf/calico/xdp/prog; echo file:/sys/fs/bpf/calico
file /etc/cni/net.d/10-calico.conflist; file /etc/cni/net.d/10-calico.conf; file /etc/cni/net.d/calico-kubeconfig; file /opt/cni/bin/calico; file /opt/cni/bin/calico-ipam; file /opt/cni/bin/calico.tmp; file /opt/cni/bin/calico-ipam.tmp
dir /etc/cni/net.d/calico-tls; dir /var/lib/calico; echo file:/run/calico; dir /run/nodeagent; dir /var/log/calico; dir /var/lib/cni/networks/k8s-pod-network; file /var/lib/cni/results/k8s-pod-network-0123-eth0
file /etc/NetworkManager/conf.d/calico.conf
portmap k8s-pod-network
