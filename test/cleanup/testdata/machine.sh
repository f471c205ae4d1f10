# What scripts of virtual machines with the agent begin with. $name is the node's.
. ./switch.sh
must() { "$@" >/tmp/said 2>&1 || { echo "$*: $?"; cat /tmp/said; exit 1; }; }
await() { until "$@" >/tmp/awaited 2>&1; do sleep 1; done; }
api() { curl -fsS --cacert /root/ca.crt --cert /root/client.crt --key /root/client.key "https://10.77.0.1:6443$1" ${2:+-H 'content-type: application/json' -d "$2"}; }
wants() { sed "s/SPEC/$1/" cluster.yaml >/srv/store/lab/cluster.yaml; } # what is below spec of the cluster's document
# Whoever asks iptables for a chain of the kernel's makes it, and it stays.
chains() {
	touch /run/xtables.lock /tmp/awaited /tmp/plan
	for p in iptables ip6tables iptables-legacy ip6tables-legacy; do
		for c in "filter INPUT" "filter FORWARD" "filter OUTPUT" "nat PREROUTING" "nat INPUT" "nat OUTPUT" "nat POSTROUTING" "mangle OUTPUT" "mangle POSTROUTING"; do
			$p -t ${c% *} -A ${c#* } -j ACCEPT; $p -t ${c% *} -D ${c#* } -j ACCEPT
		done
	done
}
machine() { # PROGRAM…: of the payload
	cp ca.crt client.crt client.key kubeconfig /root/
	mkdir -p /usr/share/iproute2 /etc/netwright /run/proof /etc/origin /etc/cni/net.d /opt/cni/bin /var/lib/cni/results /var/lib/kubelet/pods /run/lab /run/netns /opt/lab
	install -m 0755 netwright /usr/bin/netwright
	install -m 0755 "$@" /opt/lab/
	cp -r store /srv/store
	tar -C / -xf layer.tar
	ldconfig
	systemctl daemon-reload
	printf 'store: /srv/store\ncluster: lab\nnode: %s\nprobeWindow: 5m\n' $name >/etc/netwright/agent.yaml
}
