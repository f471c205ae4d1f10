left "rule:ipv4 30 fwmark 0x1745ec/0xffffffff lookup 7" ip rule add pref 30 fwmark 0x1745ec lookup 7; left "rule:ipv6 30 fwmark 0x1745ec/0xffffffff lookup 7" ip -6 rule add pref 30 fwmark 0x1745ec lookup 7
left "rule:ipv4 5000 from 10.244.1.7/32 lookup 99" ip rule add pref 5000 from 10.244.1.7 lookup 99; left "rule:ipv4 6000 from 10.244.1.8/32 lookup 1111" ip rule add pref 6000 from 10.244.1.8 lookup 1111
left route:7/10.96.0.0/16 ip route add 10.96.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0 onlink table 7
for c in "nat OVN-KUBE-NODEPORT" "nat OVN-KUBE-EXTERNALIP" "nat OVN-KUBE-ETP" "nat OVN-KUBE-ITP" "mangle OVN-KUBE-ITP" "nat OVN-KUBE-EGRESS-IP-MULTI-NIC" "nat OVN-KUBE-SNAT-MGMTPORT"; do chain $c; chain6 $c; done
rule nat PREROUTING -j OVN-KUBE-NODEPORT; rule mangle OUTPUT -j OVN-KUBE-ITP; rule filter FORWARD -i ovn-k8s-mp0 -j ACCEPT
table inet ovn-kubernetes
file /etc/cni/net.d/10-ovn-kubernetes.conf; file /etc/cni/net.d/ovnkube-node.kubeconfig; file /opt/cni/bin/ovn-k8s-cni-overlay; dir /run/ovn; dir /run/ovn-kubernetes; dir /var/lib/ovn; dir /etc/ovn; dir /var/log/ovn; dir /var/log/ovn-kubernetes
