# kubeovn.sh NAME ADDRESS OTHER: a machine is switched from bridge to Kube-OVN, whose DaemonSets
# run on it as they do in a cluster, and its pod reaches that of the machine OTHER. The first of the
# two goes back to bridge then, and says what is not as it was before.
# https://github.com/kubeovn/kube-ovn/tree/v1.16.2/dist/images: start-ovs.sh, install-cni.sh, start-cniserver.sh
set -eu
name=$1 address=$2 other=$3 central=10.77.0.13
. ./machine.sh
machine cnitool kube-ovn-daemon kube-ovn kubectl-ko
rmdir /etc/ovn /var/log/ovn # the image's
chains
systemctl -q mask openvswitch-switch.service ovs-vswitchd.service ovsdb-server.service ovn-controller.service ovn-host.service
wants 'networking:\n    cni: {binDir: \/opt\/cni\/bin}\n    bridge: {}'
must netwright --once
looks before
wants 'networking:\n    cni: {binDir: \/opt\/cni\/bin}\n    kubeOVN: {}\n    switch: {allow: true, from: bridge}'
netwright --once --wait 1s >/tmp/said 2>&1 && code=0 || code=$?
[ $code = 3 ] || { echo "without a conf: $code"; cat /tmp/said; exit 1; }
looks bare

# ovs-ovn. What is its image's /etc/openvswitch is /etc/origin/openvswitch of the host.
mkdir -p /etc/origin/openvswitch /etc/origin/ovn /etc/openvswitch /run/openvswitch /run/ovn /var/log/openvswitch /var/log/ovn /var/log/kube-ovn
image="--property=BindPaths=/etc/origin/openvswitch:/etc/openvswitch --property=BindPaths=/etc/origin/ovn:/etc/ovn"
cat >/opt/lab/start-ovs.sh <<END
set -eu
ctl=/usr/share/openvswitch/scripts/ovs-ctl
\$ctl restart --no-ovs-vswitchd --system-id=random
ovs-vsctl --no-wait set open_vswitch . other_config:hw-offload=false
\$ctl restart --no-ovsdb-server --system-id=random --no-mlockall
\$ctl --protocol=udp --dport=6081 enable-protocol
ovs-vsctl set open . external-ids:ovn-remote=tcp:[$central]:6642 external-ids:ovn-remote-probe-interval=10000 external-ids:ovn-openflow-probe-interval=180 \
	external-ids:ovn-match-northd-version=true external-ids:ovn-encap-type=geneve external-ids:hostname=$name
/usr/share/ovn/scripts/ovn-ctl restart_controller
chmod 600 /etc/openvswitch/*
exec sleep infinity
END
systemd-run -q --collect --unit=ovs-ovn $image sh /opt/lab/start-ovs.sh
await test -e /run/ovn/ovn-controller.pid

# kube-ovn-cni
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
cp /opt/lab/kube-ovn /opt/cni/bin/kube-ovn; cp /opt/lab/kubectl-ko /usr/local/bin/
/opt/lab/kube-ovn-daemon --install-cni-config --cni-conf-dir=/etc/cni/net.d --cni-conf-file=$PWD/01-kube-ovn.conflist --cni-conf-name=01-kube-ovn.conflist
iptables -P FORWARD ACCEPT
systemd-run -q --collect --unit=kube-ovn-cni $image --setenv=KUBECONFIG=/root/kubeconfig --setenv=NODE_NAME=$name --setenv=POD_NAMESPACE=kube-system --setenv=POD_NAME=kube-ovn-cni-$name --setenv=POD_IP=$address --setenv=POD_IPS=$address \
	/opt/lab/kube-ovn-daemon --ovs-socket=/run/openvswitch/db.sock --bind-socket=/run/openvswitch/kube-ovn-daemon.sock --kubeconfig=/root/kubeconfig \
	--node-switch=join --encap-checksum=true --service-cluster-ip-range=10.96.0.0/12 --network-type=geneve --logtostderr=false --alsologtostderr=true --log_file=/var/log/kube-ovn/kube-ovn-cni.log
await curl -fsS http://$address:10665/readyz
echo "$name is ready after $(cut -d. -f1 /proc/uptime) s"
must netwright --once --wait 5m
alive() { for i in 1 2 3 4 5 6; do netwright verify >/tmp/said 2>&1 || true; [ $(grep -c '✓ sign of life' /tmp/said) != 2 ] || return 0; sleep 5; done; cat /tmp/said; exit 1; }
alive

pod() { ip netns exec pod "$@"; }
ip netns add pod
cni() { env CNI_PATH=/opt/cni/bin NETCONFPATH=/etc/cni/net.d "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-$name" \
	'CAP_ARGS={"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}' /opt/lab/cnitool $1 kube-ovn /run/netns/pod; }
cni add
pod ip -br address show eth0
await api /api/v1/namespaces/default/pods/pod-$other
there=$(sed -n 's/.*"ovn.kubernetes.io\/ip_address": *"\([0-9.]*\)".*/\1/p' /tmp/awaited | head -1)
await pod ping -c1 -w5 $there
pod ping -c3 -w60 $there
ip -br link show type geneve
api /api/v1/namespaces/default/configmaps '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "'$name'"}}' >/dev/null
await api /api/v1/namespaces/default/configmaps/$other
alive
[ $name = vm-1 ] || exit 0

looks running
echo "made $(diff /run/proof/bare /run/proof/running | grep -c '^>') lines"
wants 'networking:\n    cni: {binDir: \/opt\/cni\/bin}\n    bridge: {}\n    switch: {allow: true, from: kubeOVN}'
systemctl stop kube-ovn-cni ovs-ovn
must netwright --once
# What its page says stays.
for t in filter mangle; do iptables-save -t $t | sed -n '/--dport \(6081\|4789\)/s/^-A/-t '$t' -D/p' | while read -r rule; do iptables $rule; done; done
rm -r /etc/origin/openvswitch /run/openvswitch /var/log/openvswitch/*
ip netns del pod
looks after
diff /run/proof/before /run/proof/after | grep '^[<>]' | sed 's/^/DIFF /' || true
netwright networks --found kubeOVN
