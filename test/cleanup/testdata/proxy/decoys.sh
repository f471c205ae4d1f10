# What kubelet has (pkg/kubelet/kubelet_network_linux.go of 1.36, and of 1.25 where it made the chains that mark), what others call alike, and rules of a person's in the same chains.
for p in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do
	for t in mangle nat filter; do $p -t $t -N KUBE-KUBELET-CANARY; done
	$p -t mangle -N KUBE-IPTABLES-HINT
	$p -N KUBE-FIREWALL; $p -A INPUT -j KUBE-FIREWALL; $p -A OUTPUT -j KUBE-FIREWALL; $p -A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -m mark --mark 0x8000/0x8000 -j DROP
	for c in KUBE-MARK-DROP KUBE-MARK-MASQ; do $p -t nat -N $c; done
	$p -t nat -A KUBE-MARK-MASQ -j MARK --or-mark 0x4000; $p -t nat -A KUBE-MARK-DROP -j MARK --or-mark 0x8000
	# kube-router's, NodeLocal DNSCache's, and names one letter off
	for c in KUBE-ROUTER-INPUT KUBE-POD-FW-ABCDEFGHIJKLMNOP KUBE-NWPLCY-ABCDEFGHIJKLMNOP KUBE-SERVICESX KUBE-FORWARDS KUBE-SVC-ABCDEFGHIJKLMNO KUBE-SEP-ABCDEFGHIJKLMNOPQ KUBE-PROXY-FIREWALLS KUBE-NODEPORT; do
		$p -N $c; $p -t nat -N $c; $p -A $c -j RETURN; $p -A INPUT -j $c; $p -t nat -A OUTPUT -j $c
	done
	# the same names where kube-proxy has none
	for c in KUBE-SERVICES KUBE-FORWARD KUBE-SVC-ABCDEFGHIJKLMNOP KUBE-NODE-PORT; do $p -t raw -N $c; $p -t raw -A $c -j RETURN; $p -t raw -A PREROUTING -j $c; done
	for c in KUBE-SERVICES KUBE-POSTROUTING; do $p -t mangle -N $c; $p -t mangle -A POSTROUTING -j $c; done
	$p -t nat -A POSTROUTING -m comment --comment "kubernetes postrouting rules" -o host0 -j MASQUERADE
	$p -A FORWARD -m comment --comment "kubernetes forwarding rules" -j ACCEPT; $p -A INPUT -m comment --comment "kubernetes load balancer firewall" -j ACCEPT
	$p -t raw -A PREROUTING -p udp --dport 53 -j NOTRACK; $p -t nat -A PREROUTING -p udp --dport 53 -j ACCEPT
done
for s in KUBE-CLUSTER-IPS KUBE-SRC-ABCDEFGHIJKLMNOP KUBE-DST-ABCDEFGHIJKLMNOP kube-cluster-ip KUBE-7-CLUSTER-IP KUBE-6-LOAD-BALANCER-SOURCE; do ipset create $s hash:ip; done
for t in "inet kube-proxy" "ip kube-proxy-" "ip6 kube-prox" "netdev kube-proxy" "ip mine"; do nft add table $t; done
ip link add kube-ipvs1 type bridge
[ -e /run/proof/can-dummy ] || ip link add kube-ipvs0 type bridge # another kind
ip addr add 10.96.0.77/32 dev kube-ipvs1
