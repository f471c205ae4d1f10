link kube-bridge type bridge; ip addr add 10.244.1.1/24 dev kube-bridge; ip link set kube-bridge up; port vetha1b2c3d4 kube-bridge
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.77.0.1 proto 17
left route:77/10.77.0.12/32 ip route add 10.77.0.12/32 dev tun-fedcba98765 table 77
left route:78/0.0.0.0/0 ip route add local default dev lo table 78; left "route:78/::/0 metric 1024" ip -6 route add local default dev lo table 78
left route:79/192.0.2.0/24 ip route add 192.0.2.0/24 dev kube-bridge table 79
left "rule:ipv4 32764 fwmark 0x1e61/0xffffffff lookup 78" ip rule add pref 32764 fwmark 0x1e61 lookup 78
left "rule:ipv4 32765 lookup 79" ip rule add pref 32765 lookup 79
left "rule:ipv4 32763 from 10.244.1.0/24 lookup 77" ip rule add pref 32763 from 10.244.1.0/24 lookup 77
for l in "77	kube-router" "78 kube-router-dsr" "79 external_ip"; do key=$(echo $l); left "line:/etc/iproute2/rt_tables#$key" sh -c 'echo "$0" >>/etc/iproute2/rt_tables' "$l"; done
for c in KUBE-ROUTER-INPUT KUBE-ROUTER-FORWARD KUBE-ROUTER-OUTPUT KUBE-ROUTER-SERVICES KUBE-POD-FW-ABCDEFGHIJKLMNOP KUBE-NWPLCY-ABCDEFGHIJKLMNOP KUBE-NWPLCY-DEFAULT KUBE-NWPLCY-COMMON; do chain filter $c; done
chain nat KUBE-ROUTER-HAIRPIN
rule filter FORWARD -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-FORWARD; within filter KUBE-ROUTER-FORWARD -j KUBE-POD-FW-ABCDEFGHIJKLMNOP
rule filter FORWARD -i kube-bridge -m comment --comment "allow outbound traffic from pods" -j ACCEPT
rule filter FORWARD -o kube-bridge -m comment --comment "allow inbound traffic to pods" -j ACCEPT
rule filter FORWARD -o host0 -m comment --comment "allow outbound node port traffic on node interface with which node ip is associated" -j ACCEPT
for s in kube-router-pod-subnets kube-router-node-ips kube-router-local-ips KUBE-SRC-ABC KUBE-DST-ABC; do set_ $s hash:net; done
set_ kube-router-svip hash:ip; set_ kube-router-svip-prt hash:ip,port; set_ kube-router-local-pods hash:ip; set_ inet6:kube-router-pod-subnets hash:net "family inet6"
rule nat POSTROUTING -m set --match-set kube-router-pod-subnets src -m set ! --match-set kube-router-pod-subnets dst -m set ! --match-set kube-router-node-ips dst -j MASQUERADE
rule nat POSTROUTING -m comment --comment "x" -j KUBE-ROUTER-HAIRPIN
within filter KUBE-NWPLCY-ABCDEFGHIJKLMNOP -m set --match-set KUBE-SRC-ABC src -j RETURN
table ip kube-router-filter-ipv4; table ip6 kube-router-filter-ipv6
left sysctl:net.ipv4.conf.all.arp_ignore sysctl -qw net.ipv4.conf.all.arp_ignore=1; left sysctl:net.ipv4.conf.all.arp_announce sysctl -qw net.ipv4.conf.all.arp_announce=2
file /etc/cni/net.d/10-kuberouter.conflist; file /etc/cni/net.d/10-kuberouter.conf; file /etc/cni/net.d/.tmp-kuberouter-cfg; dir /var/lib/kube-router
dir /var/lib/cni/networks/mynet; dir /var/lib/cni/networks/kubernetes; file /var/lib/cni/results/mynet-0123-eth0
portmap mynet
