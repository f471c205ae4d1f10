left link:veth7a8b9c0d ip link add veth7a8b9c0d type veth peer name eth0 netns pods; ip link set veth7a8b9c0d alias COIL:default:0123abcd:eth0; ip -n pods link set eth0 name c1
left "rule:ipv4 2000 lookup 116" ip rule add pref 2000 lookup 116; left "rule:ipv6 2000 lookup 116" ip -6 rule add pref 2000 lookup 116
left route:116/10.244.1.5/32 ip route add 10.244.1.5/32 dev host0 table 116 proto 30; left route:119/10.244.1.0/27 ip route add 10.244.1.0/27 dev lo table 119 proto 30
left route:254/10.244.2.0/27 ip route add 10.244.2.0/27 via 10.77.0.1 proto 31
file /etc/cni/net.d/10-coil.conflist; file /etc/cni/net.d/01-coil.conflist; file /opt/cni/bin/coil; file /run/coild.sock
portmap k8s-pod-network
