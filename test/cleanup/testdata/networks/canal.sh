pod cali12345678901; ip route add 10.244.1.5/32 dev cali12345678901 scope link
link flannel.1 type vxlan id 1 dstport 8472 dev host0; ip link set flannel.1 up
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink
chain nat FLANNEL-POSTRTG; rule nat POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
chain filter FLANNEL-FWD; rule filter FORWARD -m comment --comment "flanneld forward" -j FLANNEL-FWD
for t in raw mangle nat filter; do chain $t cali-PREROUTING; chain6 $t cali-PREROUTING
	rule $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; rule6 $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; done
chain filter cali-FORWARD; rule filter FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD
set_ cali40all-ipam-pools hash:net; within filter cali-FORWARD -m set --match-set cali40all-ipam-pools src -j RETURN
file /etc/cni/net.d/10-canal.conflist; file /etc/cni/net.d/calico-kubeconfig; file /opt/cni/bin/calico; file /opt/cni/bin/calico-ipam; file /opt/cni/bin/calico.tmp
dir /run/flannel; dir /var/lib/calico; dir /run/calico; dir /var/lib/cni/networks/k8s-pod-network; file /var/lib/cni/results/k8s-pod-network-0123-eth0
portmap k8s-pod-network
