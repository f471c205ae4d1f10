unit flannel-tx-checksum-offload-disable.service
echo file:/etc/systemd/system/flannel-tx-checksum-offload-disable.service
link cni0 type bridge
ip addr add 10.244.1.1/24 dev cni0; ip link set cni0 up
port veth1a2b3c4d cni0
link flannel.1 type vxlan id 1 dstport 8472 dev host0; ip addr add 10.244.1.0/32 dev flannel.1; ip link set flannel.1 up
link flannel-v6.1 type vxlan id 1 dstport 8473 dev host0
left "route:254/10.244.2.0/24" ip route add 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink
left "route:254/10.244.3.0/24" ip route add 10.244.3.0/24 via 10.77.0.1
left "route:254/10.244.0.0/16" ip route add blackhole 10.244.0.0/16 proto boot
chain nat FLANNEL-POSTRTG; within nat FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE
rule nat POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
chain filter FLANNEL-FWD; within filter FLANNEL-FWD -s 10.244.0.0/16 -m comment --comment "flanneld forward" -j ACCEPT
rule filter FORWARD -m comment --comment "flanneld forward" -j FLANNEL-FWD
rule nat POSTROUTING -s 10.244.0.0/16 -m comment --comment "flanneld masq" -j RETURN
chain6 filter FLANNEL-FWD; rule6 filter FORWARD -m comment --comment "flanneld forward" -j FLANNEL-FWD
table ip flannel-ipv4; table ip6 flannel-ipv6
state 10.77.0.11 10.77.0.12 0x101 "state 10.77.0.11/32 10.77.0.12/32 spi 0x101 reqid 11" reqid 11 mode tunnel
left "xfrm:policy out 10.244.1.0/24 10.244.2.0/24 reqid 11" ip xfrm policy add src 10.244.1.0/24 dst 10.244.2.0/24 dir out tmpl src 10.77.0.11 dst 10.77.0.12 proto esp reqid 11 mode tunnel
left "xfrm:policy fwd 10.244.2.0/24 10.244.1.0/24 reqid 11" ip xfrm policy add src 10.244.2.0/24 dst 10.244.1.0/24 dir fwd tmpl src 10.77.0.12 dst 10.77.0.11 proto esp reqid 11 mode tunnel
dir /run/flannel; dir /var/lib/cni/flannel; dir /var/lib/cni/networks/cbr0; file /var/lib/cni/results/cbr0-0123-eth0
file /etc/cni/net.d/10-flannel.conflist; file /opt/cni/bin/flannel; file /etc/udev/rules.d/90-flannel.rules
portmap cbr0
