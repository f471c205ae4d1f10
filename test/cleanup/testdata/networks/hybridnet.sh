link host0.vxlan4 type vxlan id 4 dstport 8472 dev host0; ip link set host0.vxlan4 up
pod hybr0123456789a
left "rule:ipv4 3 lookup 39999" ip rule add pref 3 lookup 39999; left "rule:ipv4 4 lookup 40000" ip rule add pref 4 lookup 40000
left "rule:ipv4 6 fwmark 0x20/0x20 lookup 40001" ip rule add pref 6 fwmark 0x20/0x20 lookup 40001
left "rule:ipv4 5 from 10.244.1.0/24 fwmark 0x0/0x4040 lookup 10000" ip rule add pref 5 from 10.244.1.0/24 fwmark 0/0x4040 lookup 10000; left "rule:ipv6 3 lookup 39999" ip -6 rule add pref 3 lookup 39999
left route:39999/10.244.1.5/32 ip route add 10.244.1.5/32 dev hybr0123456789a table 39999; left route:40000/10.244.2.0/24 ip route add 10.244.2.0/24 dev host0.vxlan4 table 40000
left route:10000/10.244.1.0/24 ip route add 10.244.1.0/24 dev host0 scope link table 10000; left route:10000/0.0.0.0/0 ip route add default via 10.77.0.1 table 10000; left route:40001/0.0.0.0/0 ip route add default dev host0.vxlan4 table 40001
for c in "nat HYBRIDNET-POSTROUTING" "mangle HYBRIDNET-POSTROUTING" "filter HYBRIDNET-FORWARD" "mangle HYBRIDNET-PREROUTING" "mangle HYBRIDNET-FROM-RULE-SKIP" "mangle HYBRIDNET-POD-TO-NODE-MARK"; do chain $c; chain6 $c; done
rule nat POSTROUTING -m comment --comment "hybridnet postrouting rules" -j HYBRIDNET-POSTROUTING; rule filter FORWARD -j HYBRIDNET-FORWARD; rule mangle PREROUTING -j HYBRIDNET-PREROUTING
for s in HYBR-OVERLAY-NET HYBR-ALL HYBR-NODE-IP HYBR-NODE-IP- HYBR-LOCAL-POD-IP HYBR-LOCAL-UNDERLAY-NET HYBR-LOCAL-UNDERLAY-NET-; do set_ $s hash:net; left "ipset:inet6:$s" ipset create "inet6:$s" hash:net family inet6; done
within nat HYBRIDNET-POSTROUTING -m set --match-set HYBR-ALL dst -j RETURN
chain filter cali-FORWARD; rule filter FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD; set_ cali40s:abc hash:net
file /etc/cni/net.d/06-hybridnet.conflist; file /opt/cni/bin/hybridnet; file /run/cni/hybridnet.sock
