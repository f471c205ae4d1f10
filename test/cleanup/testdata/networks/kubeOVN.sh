left "rule:ipv4 1003 fwmark 0x90003/0x90003 lookup 10001" ip rule add pref 1003 fwmark 0x90003/0x90003 lookup 10001
left route:10001/0.0.0.0/0 ip route add local 0.0.0.0/0 dev lo table 10001
for c in "nat OVN-PREROUTING" "nat OVN-POSTROUTING" "nat OVN-MASQUERADE" "nat OVN-NAT-POLICY" "nat OVN-NAT-PSUBNET-abc" "mangle OVN-PREROUTING" "mangle OVN-OUTPUT" "mangle OVN-POSTROUTING"; do chain $c; chain6 $c; done
rule nat PREROUTING -m comment --comment "kube-ovn prerouting rules" -j OVN-PREROUTING; rule nat POSTROUTING -m comment --comment "kube-ovn postrouting rules" -j OVN-POSTROUTING
rule mangle OUTPUT -m comment --comment "kube-ovn output rules" -j OVN-OUTPUT
for s in subnets subnets-nat subnets-distributed-gw local-pod-ip-nat other-node services subnets-nat-policy natpr-abc; do set_ ovn40$s hash:net; set_ ovn60$s hash:net "family inet6"; done; set_ ovn4t0 hash:net; set_ ovn6t1 hash:net "family inet6"
within nat OVN-POSTROUTING -m set --match-set ovn40subnets-nat src -j OVN-MASQUERADE
rule filter FORWARD -m set --match-set ovn40subnets src -j ACCEPT; rule filter INPUT -m set --match-set ovn40services dst -j ACCEPT; rule filter OUTPUT -m set --match-set ovn40services dst -j ACCEPT
rule filter FORWARD -m comment --comment "ovn-subnet-gateway,subnet1" -s 10.244.0.0/16
file /etc/cni/net.d/01-kube-ovn.conflist; file /etc/cni/net.d/00-kube-ovn.conflist; file /etc/cni/net.d/01-kube-ovn.conflist.tmp.123456; file /opt/cni/bin/kube-ovn.tmp.42; file /usr/local/bin/kubectl-ko.tmp.42; file /opt/cni/bin/kube-ovn; file /usr/local/bin/kubectl-ko; dir /run/ovn; dir /etc/ovn; dir /etc/origin/ovn; dir /etc/ovs_ipsec_keys; dir /var/log/kube-ovn; dir /var/log/ovn
portmap kube-ovn
