package e2e

import "testing"

// freshAddress is the address of the machine that a test makes a node.
const freshAddress = "10.77.0.20"

// freshSpec is the spec of a network that needs kernel modules of many kinds. containerd must load
// the network's conf.
const freshSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    custom:
      title: a network that wants every module
      conf:
        writer: netwright
        file: 10-lab.conflist
        template: |
          {"cniVersion": "${CNIVersion}", "name": "lab", "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": true, "mtu": ${MTU}, "ipam": {"type": "host-local", "ranges": ${Ranges}, "routes": ${Routes}}}]}
      plugins:
      - {asset: cni-plugins, members: [bridge, host-local, loopback]}
      modules:
      - {name: br_netfilter, why: bridged pods}
      - {name: ipip, why: tunnels}
      - {name: wireguard, why: encryption}
      - {name: ip_vs, why: services}
      - {name: openvswitch, why: flows}
      - {name: geneve, why: between nodes}
      sysctls:
      - {key: net.bridge.bridge-nf-call-iptables, value: "1", why: services from bridged pods}
`

// freshCheck checks a node with freshSpec by the node's own tools. It asks containerd over CRI
// (Status, verbose), and uses no program of ours.
const freshCheck = `
systemctl is-active netwright-agent containerd
for m in br_netfilter ipip wireguard ip_vs openvswitch geneve; do grep "^$m " /proc/modules | cut -d' ' -f1; done | tee /tmp/modules
test $(wc -l </tmp/modules) = 6
stat -fc %T /sys/fs/cgroup | grep -x cgroup2fs
for kv in net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 kernel.panic=10 kernel.panic_on_oops=1 vm.overcommit_memory=1 \
	vm.max_map_count=1048576 fs.inotify.max_user_instances=8192; do
	got=$(sysctl -n "${kv%=*}"); [ "$got" = "${kv#*=}" ] || { echo "${kv%=*} is $got"; exit 1; }
done
jq -e '.name == "lab"' /etc/cni/net.d/10-lab.conflist >/dev/null
for plugin in bridge host-local loopback; do test -x /usr/lib/cni/$plugin; done
until printf '\0\0\0\0\2\010\001' | curl -sS --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock -H 'content-type: application/grpc' -H 'te: trailers' \
	--data-binary @- -o /tmp/status http://localhost/runtime.v1.RuntimeService/Status && grep -aq "$(printf 'NetworkReady\020\001')" /tmp/status &&
	grep -aq '"Name":"lab"' /tmp/status; do sleep 1; done
echo "containerd has the conf"
if [ -n "$(find / -xdev -name '*.netwright-*' 2>/dev/null)" ]; then echo "staged files are left"; exit 1; fi
netwright --once | tee /tmp/once; grep -q "nothing to do" /tmp/once
systemctl --failed --plain --no-legend
echo "ready $(systemctl show -P ActiveEnterTimestampMonotonic netwright-agent)"
`

// installed checks that cloud-init ran the user-data to its end.
const installed = "grep -q 'netwright: installed' /var/log/cloud-init-output.log\n"

// freshStore returns the store of a cluster with the machine that becomes a node, and a node that
// boots beside it.
func freshStore(t *testing.T, spec string) store {
	t.Helper()
	s := newStore(t, spec, nil)
	for name, at := range map[string][2]string{"node-1": {freshAddress, podRange(0)}, "node-2": {"10.77.0.12", podRange(1)}} {
		path, text := nodeDocument(name, at[0], "["+at[1]+"]")
		s.write(t, path, text)
	}
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	return s
}
