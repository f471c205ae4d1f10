left "rule:ipv4 32765 fwmark 0x1/0xff lookup 101" ip rule add pref 32765 fwmark 0x1/0xff lookup 101
left route:101/0.0.0.0/0 ip route add default via 10.77.0.1 dev host0 table 101 onlink
left route:141/0.0.0.0/0 ip route add default via 169.254.0.254 dev antrea-gw0 onlink table 141
left "rule:ipv4 32764 fwmark 0x40000000/0x40000000 lookup 141" ip rule add pref 32764 fwmark 0x40000000/0x40000000 lookup 141
for c in "raw ANTREA-PREROUTING" "raw ANTREA-OUTPUT" "mangle ANTREA-PREROUTING" "mangle ANTREA-OUTPUT" "nat ANTREA-PREROUTING" "nat ANTREA-POSTROUTING" "nat ANTREA-OUTPUT" "filter ANTREA-FORWARD" "filter ANTREA-INPUT" "filter ANTREA-OUTPUT" \
	"filter ANTREA-POL-INGRESS-RULES"; do chain $c; chain6 $c; done
rule filter FORWARD -m comment --comment "Antrea: jump to Antrea forwarding rules" -j ANTREA-FORWARD; rule6 raw OUTPUT -m comment --comment "Antrea: jump to Antrea output rules" -j ANTREA-OUTPUT
rule nat POSTROUTING -m comment --comment "Antrea: jump to Antrea postrouting rules" -j ANTREA-POSTROUTING
for s in ANTREA-POD-IP CLUSTER-NODE-IP; do set_ $s hash:net; set_ ${s}6 hash:net "family inet6"; done; set_ ANTREA-NODEPORT-IP hash:ip,port; set_ ANTREA-POL-INGRESS hash:ip; set_ LOCAL-FLEXIBLE-IPAM-POD-IP hash:ip
within nat ANTREA-POSTROUTING -m set --match-set ANTREA-POD-IP dst -j RETURN
table ip antrea; table ip6 antrea
file /etc/cni/net.d/10-antrea.conflist; file /etc/cni/net.d/05-antrea.conflist; file /opt/cni/bin/antrea; dir /run/antrea; dir /var/log/antrea; file /etc/sysctl.d/99-zzzz-antrea.conf; dir /var/lib/cni/networks/antrea
portmap antrea
