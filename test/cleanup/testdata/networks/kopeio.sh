left link:vxlan1 ip link add vxlan1 address 00:53:0a:f4:01:00 type vxlan id 1 dstport 4789 dev host0; ip addr add 10.244.1.0/32 dev vxlan1; ip link set vxlan1 up
link kopeio type bridge
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.244.2.0 dev vxlan1 onlink
. ./networks/kubenet.sh
