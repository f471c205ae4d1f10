pod knet01234567; ip route add 10.244.1.5/32 dev knet01234567
left route:254/10.244.2.0/24 ip route add 10.244.2.0/24 via 10.77.0.1
left "rule:ipv4 32765 fwmark 0xd/0xffffffff lookup 101" ip rule add pref 32765 fwmark 13 lookup 101
left "rule:ipv6 32765 fwmark 0xe/0xffffffff lookup 101" ip -6 rule add pref 32765 fwmark 14 lookup 101
for t in kindnet-ipmasq kindnet-nflog kindnet-fastpath kindnet-dnscache kindnet-network-policies cni-kindnet; do table inet $t; done
table ip6 kindnet-nat64
left "xfrm:policy out 10.244.1.0/24 10.244.2.0/24 if_id 1001" ip xfrm policy add src 10.244.1.0/24 dst 10.244.2.0/24 dir out if_id 1001 tmpl src 10.77.0.11 dst 10.77.0.12 proto esp mode tunnel
file /etc/cni/net.d/10-kindnet.conflist; file /opt/cni/bin/cni-kindnet; dir /var/lib/cni-kindnet; file /var/lib/cni/results/kindnet-0123-eth0
