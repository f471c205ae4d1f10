link weave type bridge; ip addr add 10.244.1.1/16 dev weave; ip link set weave up; ip route add 10.245.0.0/16 dev weave
port vethwepl12345 weave
link vxlan-6784 type vxlan external dstport 6784
echo route:254/10.245.0.0/16
chain nat WEAVE; rule nat POSTROUTING -j WEAVE
for c in WEAVE-EXPOSE WEAVE-NPC WEAVE-NPC-DEFAULT WEAVE-NPC-INGRESS WEAVE-NPC-EGRESS WEAVE-NPC-EGRESS-DEFAULT WEAVE-NPC-EGRESS-CUSTOM WEAVE-NPC-EGRESS-ACCEPT WEAVE-KUBE-TEST WEAVE-IPSEC-IN; do chain filter $c; done
rule filter FORWARD -i weave -m comment --comment "NOTE: this must go before '-j KUBE-FORWARD'" -j WEAVE-NPC-EGRESS
rule filter FORWARD -o weave -m comment --comment "NOTE: this must go before '-j KUBE-FORWARD'" -j WEAVE-NPC
rule filter FORWARD -o weave -j DROP; rule filter FORWARD -i weave ! -o weave -j ACCEPT; rule filter FORWARD -o weave -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
rule filter INPUT -i weave -j WEAVE-NPC-EGRESS; rule nat POSTROUTING -o weave -j ACCEPT
rule filter INPUT -d 127.0.0.1/32 -p tcp --dport 6784 -m addrtype ! --src-type LOCAL -m comment --comment "Block non-local access to Weave Net control port" -j DROP
rule filter INPUT -j WEAVE-IPSEC-IN
for c in WEAVE-IPSEC-IN WEAVE-IPSEC-IN-MARK WEAVE-IPSEC-OUT WEAVE-IPSEC-OUT-MARK; do chain mangle $c; done
rule mangle OUTPUT -j WEAVE-IPSEC-OUT
set_ weaver-no-masq-local hash:ip; left 'ipset:weave-;rGqyMIl1HN^cfDki~Z$3]6!N' ipset create 'weave-;rGqyMIl1HN^cfDki~Z$3]6!N' hash:ip
within filter WEAVE-NPC-DEFAULT -m set --match-set 'weave-;rGqyMIl1HN^cfDki~Z$3]6!N' dst -j ACCEPT
state 10.77.0.11 10.77.0.12 0x301 "state 10.77.0.11/32 10.77.0.12/32 spi 0x301" mode transport
left "xfrm:policy out 10.77.0.11/32 10.77.0.12/32 spi 0x301 mark 0x20000/0x20000" ip xfrm policy add src 10.77.0.11 dst 10.77.0.12 proto udp dir out mark 0x20000 mask 0x20000 tmpl src 10.77.0.11 dst 10.77.0.12 proto esp spi 0x301 mode transport
file /etc/cni/net.d/10-weave.conflist; file /etc/cni/net.d/10-weave.conf; file /opt/cni/bin/weave-net; file /opt/cni/bin/weave-ipam; file /opt/cni/bin/weave-plugin-2.8.1
dir /var/lib/weave; file /var/lib/cni/results/weave-0123-eth0
portmap weave
