# kubeproxy.sh NAME: a machine on which kube-proxy runs in mode ipvs, beside services and sets of others. It ends, the documents say
# so, and what it made goes: what is not as it was before is said.
set -eu
name=$1
. ./machine.sh
machine kube-proxy
wants 'kubeProxy: {proxyMode: ipvs}\n  networking:\n    bridge: {}'
must netwright --once
modprobe -a ip_vs ip_vs_rr dummy ip_set_hash_ip
ip link add dummy7 type dummy; ip addr add 192.0.2.50/32 dev dummy7; ip link set dummy7 up
ipvsadm -A -t 192.0.2.50:80; ipvsadm -a -t 192.0.2.50:80 -r 192.0.2.60 -m # as keepalived has
for p in iptables ip6tables; do
	$p -N KUBE-OTHERS; $p -A INPUT -m comment --comment "kubernetes forwarding rules" -j KUBE-OTHERS
	$p -t nat -N KUBE-MARK-MASQ; $p -t nat -A KUBE-MARK-MASQ -j MARK --or-mark 0x4000 # as an older kubelet has, and kube-proxy leaves
done
chains
ipset create KUBE-OTHERS hash:ip
looks before
cat >/opt/lab/proxy.yaml <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: ipvs
clusterCIDR: 10.244.0.0/16
clientConnection: {kubeconfig: /root/kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s} # they are the machine's, and stay
ipvs: {excludeCIDRs: [192.0.2.0/24]} # of others: it takes everybody else's away
END
systemd-run -q --collect --unit=kube-proxy /opt/lab/kube-proxy --config=/opt/lab/proxy.yaml --hostname-override=$name
services() { ipvsadm -Sn | grep -q -- '-t 10.96.0.50:80 -r 10.244.1.5:8080' && iptables-save | grep -q KUBE-IPVS-FILTER && ip -br addr show kube-ipvs0 | grep -q 10.96.0.50; }
await services
looks running
echo "made $(diff /run/proof/before /run/proof/running | grep -c '^>') lines"
wants 'kubeProxy: {enabled: false}\n  networking:\n    bridge: {}'
netwright --dry-run >/tmp/plan 2>&1 || true
grep -q 'it runs here in mode ipvs' /tmp/plan || { echo 'the plan does not wait for kube-proxy'; cat /tmp/plan; exit 1; }
netwright --once >/dev/null 2>&1 || true
services
systemctl stop kube-proxy
must netwright --once
must netwright --once # networkd leaves the link alone as long as it is there
looks after
# Its page says that sysctls stay; the file is the agent's, which leaves kube-ipvs0 to kube-proxy where the documents want that mode.
diff /run/proof/before /run/proof/after | grep '^[<>]' | grep -v 'sysctl: net.ipv4.vs\|/etc/systemd/network/05-netwright.network' | sed 's/^/DIFF /' || true
