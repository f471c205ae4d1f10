move_local 20
pod eni01234567890; pod vlan01234567890
left "rule:ipv4 512 to 10.244.1.5/32 lookup 254" ip rule add pref 512 to 10.244.1.5 lookup main
left "rule:ipv4 1024 fwmark 0x80/0x80 lookup 254" ip rule add pref 1024 fwmark 0x80/0x80 lookup main
left "rule:ipv4 1535 to 198.51.100.64/26 lookup 254" ip rule add pref 1535 to 198.51.100.64/26 lookup main
left "rule:ipv4 1536 from 10.244.1.5/32 lookup 2" ip rule add pref 1536 from 10.244.1.5 lookup 2
left "rule:ipv4 10 iif vlan01234567890 lookup 101" ip rule add pref 10 iif vlan01234567890 lookup 101
left route:254/10.244.1.5/32 ip route add 10.244.1.5/32 dev eni01234567890 scope link
left route:2/10.77.0.1/32 ip route add 10.77.0.1/32 dev host0 scope link table 2
left route:2/0.0.0.0/0 ip route add default via 10.77.0.1 dev host0 table 2
left route:101/10.244.1.9/32 ip route add 10.244.1.9/32 dev vlan01234567890 table 101
for c in AWS-SNAT-CHAIN-0 AWS-SNAT-CHAIN-1 AWS-CONNMARK-CHAIN-0 CNI-E4-0123456789 CNI-E6-0123456789; do chain nat $c; done
rule nat POSTROUTING -m comment --comment "AWS SNAT CHAIN" -j AWS-SNAT-CHAIN-0
within nat AWS-SNAT-CHAIN-0 ! -o vlan+ -m comment --comment "AWS, SNAT" -m addrtype ! --dst-type LOCAL -j SNAT --to-source 10.77.0.11
rule nat PREROUTING -i eni+ -m comment --comment "AWS, outbound connections" -j AWS-CONNMARK-CHAIN-0
rule nat PREROUTING -m comment --comment "AWS, CONNMARK" -j CONNMARK --restore-mark --mask 0x80
rule mangle PREROUTING -i host0 -m comment --comment "AWS, primary ENI" -m addrtype --dst-type LOCAL --limit-iface-in -j CONNMARK --set-mark 0x80/0x80
rule mangle PREROUTING -i eni+ -m comment --comment "AWS, primary ENI" -j CONNMARK --restore-mark --mask 0x80
rule mangle PREROUTING -i vlan+ -m comment --comment "AWS, primary ENI" -j CONNMARK --restore-mark --mask 0x80
rule filter FORWARD -m comment --comment "Block Node Local Pod access via IPv4" -j DROP; rule6 filter FORWARD -m comment --comment "Block Node Local Pod access via IPv6" -j DROP
table ip aws-cni
mkdir -p /sys/fs/bpf/globals/aws/programs; ./pin tc aws /sys/fs/bpf/globals/aws/programs/x; echo file:/sys/fs/bpf/globals/aws
file /etc/cni/net.d/10-aws.conflist
for f in aws-cni egress-cni aws-cni.tmp egress-cni.tmp aws-cni-support.sh aws-eks-na-cli aws-eks-na-cli-v6 tc.v4ingress.bpf.o v4events.bpf.o; do file /opt/cni/bin/$f; done
dir /run/aws-node; dir /run/cni/v4pd; dir /run/cni/v6pd; dir /var/log/aws-routed-eni; file /var/lib/cni/results/aws-cni-0123-eth0
portmap aws-cni
