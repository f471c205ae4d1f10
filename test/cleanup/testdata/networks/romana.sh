pod romana-01234567; left route:254/10.244.1.5/32 ip route add 10.244.1.5/32 dev romana-01234567
left "rule:ipv4 32765 lookup 10" ip rule add pref 32765 lookup 10; left route:10/10.244.2.0/28 ip route add 10.244.2.0/28 via 10.77.0.1 table 10
left "line:/etc/iproute2/rt_tables#10 romana" sh -c 'printf "10\tromana\n" >>/etc/iproute2/rt_tables'
for c in ROMANA_FORWARD ROMANA-INPUT ROMANA-OUTPUT ROMANA-FORWARD-IN ROMANA-FORWARD-OUT ROMANA-OP ROMANA-OP-IN ROMANA-P-0123456789abcdef ROMANA-P-0123456789abcdef_X; do chain filter $c; done; chain nat ROMANA-MASQ
rule filter FORWARD -o host0 -m comment --comment "romana forwarding rules" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
rule filter FORWARD -i host0 -o host0 -m comment --comment "romana forwarding rules" -j ROMANA_FORWARD
rule filter INPUT -i romana-01234567 -j ROMANA-INPUT; rule filter OUTPUT -o romana-01234567 -j ROMANA-OUTPUT; rule filter FORWARD -i romana-01234567 -j ROMANA-FORWARD-OUT; rule filter FORWARD -o romana-01234567 -j ROMANA-FORWARD-IN
rule nat POSTROUTING -s 10.244.0.0/16 -m comment --comment "romana postrouting rules" -j ROMANA-MASQ
set_ localBlocks hash:net; set_ ROMANA-0123456789abcdef hash:net; set_ ROMANA-P-0123456789abcdef_s hash:net; within filter ROMANA-P-0123456789abcdef -m set --match-set ROMANA-P-0123456789abcdef_s src -j RETURN
left sysctl:net.ipv4.conf.all.proxy_arp sysctl -qw net.ipv4.conf.all.proxy_arp=1
left sysctl:net.ipv4.conf.default.proxy_arp sysctl -qw net.ipv4.conf.default.proxy_arp=1
file /etc/cni/net.d/10-romana.conf; file /opt/cni/bin/romana; file /usr/local/bin/romana; dir /etc/romana; file /etc/rlog/romana.conf; dir /run/romana; dir /var/log/romana; file /var/tmp/romana-cni.log
