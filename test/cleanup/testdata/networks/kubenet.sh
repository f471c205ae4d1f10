unit cni-iptables-setup.service; echo file:/etc/systemd/system/cni-iptables-setup.service
link cbr0 type bridge; ip addr add 10.244.1.1/24 dev cbr0; ip link set cbr0 up; port veth01234567 cbr0
pod veth89abcdef; ip route add 10.244.1.5/32 dev veth89abcdef # as ptp makes it: goes with its link
chain nat KUBE-HOSTPORTS; chain nat KUBE-HP-ABCDEFGHIJKLMNOP; chain nat IP-MASQ
for c in PREROUTING OUTPUT; do rule nat $c -m comment --comment "kube hostport portals" -m addrtype --dst-type LOCAL -j KUBE-HOSTPORTS; done
rule nat POSTROUTING -m comment --comment "kubenet: SNAT for outbound traffic from cluster" -m addrtype ! --dst-type LOCAL ! -d 10.0.0.0/8 -j MASQUERADE
rule nat POSTROUTING -o cbr0 -s 127.0.0.0/8 -m comment --comment "SNAT for localhost access to hostports" -j MASQUERADE
rule nat POSTROUTING -m comment --comment "ip-masq: ensure nat POSTROUTING directs all non-LOCAL destination traffic to our custom IP-MASQ chain" -m addrtype ! --dst-type LOCAL -j IP-MASQ
within nat IP-MASQ -d 10.0.0.0/8 -m comment --comment "ip-masq: pod cidr is not subject to MASQUERADE" -j RETURN
table ip netwright
file /etc/cni/net.d/10-containerd-net.conflist; file /etc/containerd/config-cni.template; file /etc/containerd/cni-config.template
for d in kubenet containerd-net k8s-pod-network; do dir /var/lib/cni/networks/$d; done
file /var/lib/cni/results/k8s-pod-network-0123-eth0; file /var/lib/cni/cache/results/kubenet-0123-eth0; file /opt/kops/bin/cni-iptables-setup
portmap k8s-pod-network
