package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/vm"
)

// unloaded removes a module while the daemon runs, three times. Each rmmod succeeds only if the
// daemon has repaired the one before.
const unloaded = `
		for i in 1 2 3; do
			at=$(date +%s%N); rmmod br_netfilter
			until [ "$(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null)" = 1 ]; do sleep 0.01; done
			echo "br_netfilter is back $((($(date +%s%N) - at) / 1000000)) ms after rmmod began"
		done
		netwright --once | tee /tmp/once; grep -q "nothing to do" /tmp/once
		journalctl -b -o cat -t netwright -t module:br_netfilter --no-pager | grep br_netfilter
		netwright status`

// set sets the clock while the daemon runs, forward and back. Each time it waits for the pass that
// follows, since nothing else would cause a pass for minutes. The line that keeps it:
// pkg/host/watch/clock.go, set.
const set = `
		passes() { netwright status -o json | sed -n 's/.*"clock": \([0-9]*\).*/\1/p'; }
		for i in 1 2; do
			date -s "@$(($(date +%s) + (3 - 2 * i) * 28800))" >/dev/null
			until [ "0$(passes)" -ge $i ]; do sleep 0.1; done
		done`

// A whole machine has modules and keys of its own kernel. Modules load, and their sysctls appear
// only then. The kernel's own keys are set, and a reboot changes nothing. The daemon notices a
// clock that is set.
func TestMachine(t *testing.T) {
	t.Parallel()
	s := newStore(t, bridgeSpec, nil)
	path, text := nodeDocument("node-1", "10.0.2.15", "[10.244.1.0/24]")
	s.write(t, path, text)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)))
	check := `
		systemctl is-active netwright-agent
		stat -fc %T /sys/fs/cgroup | grep -x cgroup2fs
		for m in br_netfilter bridge; do grep -q "^$m " /proc/modules || { echo "$m is not loaded"; exit 1; }; done
		for kv in net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1 \
			kernel.panic=10 kernel.panic_on_oops=1 vm.overcommit_memory=1 vm.max_map_count=1048576 fs.inotify.max_user_instances=8192 \
			net.core.somaxconn=32768 net.core.rmem_max=16777216; do
			got=$(sysctl -n "${kv%=*}"); [ "$got" = "${kv#*=}" ] || { echo "${kv%=*} is $got"; exit 1; }
		done
		ip -br link show cbr0
		nft list table ip netwright | grep masquerade
		netwright --once | tee /tmp/once; grep -q "nothing to do" /tmp/once
		netwright --dry-run >/dev/null`
	boots := vm.Run(t, vm.Options{
		Payload: map[string]string{"netwright": agent(t), "store": s.dir, "unit": "../../systemd/netwright-agent.service"},
		Boots: []string{`
			set -x
			test ! -e /proc/sys/net/bridge
			install -m 0755 netwright /usr/bin/netwright
			install -m 0644 unit /etc/systemd/system/netwright-agent.service
			mkdir -p /etc/netwright; cp -r store /srv/netwright
			# An emulated machine beside others takes minutes for its first configuration: its time is four windows.
			printf 'store: /srv/netwright\ncluster: ` + cluster + `\nnode: node-1\nprobeWindow: 5m\n' >/etc/netwright/agent.yaml
			lsmod | cut -d' ' -f1 | sort >/tmp/modules
			netwright --dry-run >/tmp/plan 2>&1 && exit 1 || test $? = 2 || { cat /tmp/plan; exit 1; }
			test ! -e /proc/sys/net/bridge
			# Nothing was loaded, nor autoloaded by a netlink family that was asked (host/firewall/firewall.go: without it nf_tables comes).
			lsmod | cut -d' ' -f1 | sort | diff /tmp/modules -
			# A module that the kernel does not have: refused by name, before anything is touched (host_requirements.go).
			ko=$(find /lib/modules -name 'br_netfilter.ko*'); mv $ko /root/; depmod
			netwright --once >/tmp/fault 2>&1 && exit 1 || test $? = 1
			grep -q 'needs kernel module br_netfilter' /tmp/fault; test ! -e /etc/sysctl.d/99-netwright.conf; test ! -e /usr/lib/cni/bridge; test ! -e /proc/sys/net/bridge
			mv /root/${ko##*/} $ko; depmod
			systemctl enable --now netwright-agent || { journalctl -u netwright-agent --no-pager; exit 1; }
			until netwright status >/dev/null; do sleep 5; done` + check,
			check + unloaded + set,
		},
	})
	for i, boot := range boots {
		if boot.State != "running" || boot.Code != 0 || !strings.Contains(boot.Output, "nothing to do") {
			t.Errorf("boot %d: systemd is %s, the script ended with %d:\n%s", i+1, boot.State, boot.Code, boot.Output)
		}
		for line := range strings.Lines(boot.Output) {
			if strings.HasPrefix(line, "br_netfilter is back") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}
