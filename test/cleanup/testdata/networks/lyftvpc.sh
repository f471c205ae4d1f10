pod veth0a1b2c3d; ip route add 10.244.1.5/32 dev veth0a1b2c3d
left "rule:ipv4 1024 iif veth0a1b2c3d lookup 256" ip rule add pref 1024 iif veth0a1b2c3d lookup 256
left "rule:ipv4 512 fwmark 0x2000/0xffffffff lookup 254" ip rule add pref 512 fwmark 0x2000 lookup main
left route:256/0.0.0.0/0 ip route add default via 10.77.0.1 table 256
for p in tcp udp; do rule mangle PREROUTING -i host0 -p $p --dport 30000:32767 -m comment --comment "NodePort Mark" -j CONNMARK --set-mark 8192; done
rule mangle PREROUTING -i veth+ -m comment --comment "NodePort Mark" -j CONNMARK --restore-mark
file /etc/cni/net.d/10-cni-ipvlan-vpc-k8s.conflist; for f in ipam ipvlan tool unnumbered-ptp; do file /opt/cni/bin/cni-ipvlan-vpc-k8s-$f; done; dir /run/cni-ipvlan-vpc-k8s; file /tmp/cni-ipvlan-vpc-k8s.lock
unit cni-gc.service; file /etc/systemd/system/cni-gc.service
