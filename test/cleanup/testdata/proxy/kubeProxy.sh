# pkg/proxy of Kubernetes 1.36, and of 1.25 (userspace), by its own names: what syncProxyRules of each mode makes, with one service of each kind.
h=ABCDEFGHIJKLMNOP
new() { for c in $2; do chain "$1" "$c"; chain6 "$1" "$c"; done; } # TABLE CHAINS
jump() { rule "$@"; rule6 "$@"; }
# iptables
new nat "KUBE-SERVICES KUBE-NODEPORTS KUBE-POSTROUTING KUBE-PROXY-CANARY KUBE-SVC-$h KUBE-SVL-$h KUBE-XLB-$h KUBE-SEP-$h KUBE-FW-$h KUBE-EXT-$h"
new filter "KUBE-SERVICES KUBE-EXTERNAL-SERVICES KUBE-FORWARD KUBE-NODEPORTS KUBE-PROXY-FIREWALL KUBE-PROXY-CANARY"
new mangle "KUBE-PROXY-CANARY"
for c in INPUT FORWARD; do jump filter $c -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES; done
for c in FORWARD OUTPUT; do jump filter $c -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES; done
for c in INPUT OUTPUT FORWARD; do jump filter $c -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL; done
jump filter INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
jump filter FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
for c in OUTPUT PREROUTING; do jump nat $c -m comment --comment "kubernetes service portals" -j KUBE-SERVICES; done
jump nat POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
within filter KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
within nat KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
within nat KUBE-SERVICES -d 10.96.0.50/32 -p tcp -m comment --comment "default/near cluster IP" -m tcp --dport 80 -j KUBE-SVC-$h
within nat KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
within nat KUBE-NODEPORTS -p tcp -m comment --comment default/near -m tcp --dport 30080 -j KUBE-EXT-$h
within nat KUBE-EXT-$h -j KUBE-MARK-MASQ; within nat KUBE-EXT-$h -j KUBE-SVL-$h; within nat KUBE-FW-$h -j KUBE-EXT-$h; within nat KUBE-SVL-$h -j KUBE-SEP-$h; within nat KUBE-XLB-$h -j KUBE-SVL-$h
within nat KUBE-SVC-$h -m comment --comment "default/near -> 10.244.1.5:8080" -j KUBE-SEP-$h
within nat KUBE-SEP-$h -s 10.244.1.5/32 -j KUBE-MARK-MASQ; within nat KUBE-SEP-$h -p tcp -m tcp -j DNAT --to-destination 10.244.1.5:8080
# ipvs, beside what it has in common with iptables
new nat "KUBE-NODE-PORT KUBE-LOAD-BALANCER"
new filter "KUBE-NODE-PORT KUBE-SOURCE-RANGES-FIREWALL KUBE-IPVS-FILTER KUBE-IPVS-OUT-FILTER"
jump filter INPUT -m comment --comment "kubernetes health check rules" -j KUBE-NODE-PORT
for c in INPUT FORWARD; do jump filter $c -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL; done
jump filter INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
jump filter OUTPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-OUT-FILTER
for s in LOOP-BACK:ip,port,ip CLUSTER-IP:ip,port EXTERNAL-IP:ip,port EXTERNAL-IP-LOCAL:ip,port LOAD-BALANCER:ip,port LOAD-BALANCER-FW:ip,port LOAD-BALANCER-LOCAL:ip,port \
	LOAD-BALANCER-SOURCE-IP:ip,port,ip LOAD-BALANCER-SOURCE-CIDR:ip,port,net NODE-PORT-SCTP-HASH:ip,port NODE-PORT-LOCAL-SCTP-HASH:ip,port IPVS-IPS:ip; do
	six=KUBE-6-${s%:*}
	set_ "KUBE-${s%:*}" "hash:${s#*:}"; set_ "$(printf %.31s "$six")" "hash:${s#*:}" "family inet6"
done
for s in NODE-PORT-TCP NODE-PORT-LOCAL-TCP NODE-PORT-UDP NODE-PORT-LOCAL-UDP HEALTH-CHECK-NODE-PORT; do
	set_ KUBE-$s bitmap:port "range 0-65535"; set_ KUBE-6-$s bitmap:port "range 0-65535"
done
within nat KUBE-SERVICES -m comment --comment "Kubernetes service lb portal" -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER
within nat KUBE-NODE-PORT -p tcp -m comment --comment "Kubernetes nodeport TCP port for masquerade purpose" -m set --match-set KUBE-NODE-PORT-TCP dst -j KUBE-MARK-MASQ
within nat KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
within filter KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j DROP
# nftables
table ip kube-proxy; table ip6 kube-proxy
# userspace
new nat "KUBE-PORTALS-CONTAINER KUBE-PORTALS-HOST KUBE-NODEPORT-CONTAINER KUBE-NODEPORT-HOST"; new filter KUBE-NODEPORT-NON-LOCAL
jump nat PREROUTING -m comment --comment "handle ClusterIPs; NOTE: this must be before the NodePort rules" -j KUBE-PORTALS-CONTAINER
jump nat OUTPUT -m addrtype --dst-type LOCAL -m comment --comment "handle service NodePorts; NOTE: this must be the last rule in the chain" -j KUBE-NODEPORT-HOST
jump filter INPUT -m comment --comment "Ensure that non-local NodePort traffic can flow" -j KUBE-NODEPORT-NON-LOCAL
