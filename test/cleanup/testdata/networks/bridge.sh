link cbr0 type bridge; ip addr add 10.244.1.1/24 dev cbr0; ip link set cbr0 up; port veth01234567 cbr0
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.77.0.1 proto 149
table ip netwright
file /etc/cni/net.d/05-netwright-bridge.conflist; dir /var/lib/cni/networks/netwright-bridge; file /var/lib/cni/results/netwright-bridge-0123-eth0
portmap netwright-bridge
