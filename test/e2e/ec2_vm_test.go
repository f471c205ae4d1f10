package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// uplinkMAC is the address that qemu gives the first card of a machine.
const uplinkMAC = "52:54:00:12:34:56"

// A machine whose firmware says that it is of EC2 asks the metadata service at the service's own
// address, and through no proxy. Where that service does not answer, the agent knows the other
// facts all the same.
func TestFactsOnEC2(t *testing.T) {
	images(t)
	t.Parallel()
	f := node.NewFabric(t)
	metadata := serveMetadata(t, f, "#!/bin/sh\n")
	values := map[string]string{}
	for path, value := range metadata.Values {
		values[strings.Replace(path, "02:00:00:00:00:01", uplinkMAC, 1)] = value
	}
	metadata.Values = values
	boots := vm.Run(t, vm.Options{
		Fabric: f, Address: "10.77.0.20", Vendor: "Amazon EC2", Product: "m5.large",
		Payload: map[string]string{"netwright": agent(t)},
		Boots: []string{`
			export HTTP_PROXY=http://127.0.0.1:1 http_proxy=http://127.0.0.1:1
			install -m 0755 netwright /run/netwright-agent
			mount -o remount,exec /run
			until ip route | grep -q ^default; do sleep 0.1; done
			# An emulated machine may be too slow for the service's answer.
			until /run/netwright-agent facts -o json >/run/json && /run/netwright-agent facts >/run/text && grep -q i-0123 /run/json && grep -q i-0123 /run/text; do sleep 1; done
			cat /run/json
			echo =====
			grep -E '^(cloud|instance|interface|tag) ' /run/text
			echo =====
			ip route add blackhole 169.254.169.254
			/run/netwright-agent facts -o json`},
	})
	parts := strings.Split(boots[0].Output, "=====\n")
	if len(parts) != 3 {
		t.Fatalf("Run returns %s", boots[0].Output)
	}
	var facts, silent host.Facts
	for i, into := range map[int]*host.Facts{0: &facts, 2: &silent} {
		if err := json.Unmarshal([]byte(parts[i]), into); err != nil {
			t.Fatalf("%v: %s", err, parts[i])
		}
	}
	i := facts.Instance
	if facts.Cloud != "aws" || i == nil || i.ID != "i-0123456789abcdef0" || i.Type != "m5.large" || i.Region != "eu-central-1" || i.Tags["team"] != "network" || len(i.Interfaces) != 2 {
		t.Fatalf("parts[0] is %s", parts[0])
	}
	if e := i.Interfaces[0]; e.Link != facts.Uplink || e.MTU != 1500 || e.Subnet != "subnet-1" || i.Interfaces[1].Link != "" {
		t.Errorf("the interfaces are %+v", i.Interfaces)
	}
	if len(facts.Problems) > 0 {
		t.Errorf("problems: %q", facts.Problems)
	}
	for _, want := range []string{"i-0123456789abcdef0, m5.large, eu-central-1b", "eni-1 " + uplinkMAC + ", " + facts.Uplink + ", mtu 1500", "no link yet", "tag team"} {
		if !strings.Contains(parts[1], want) {
			t.Errorf("the text lacks %q:\n%s", want, parts[1])
		}
	}
	if silent.Cloud != "aws" || silent.Instance != nil || len(silent.Problems) != 1 || !strings.Contains(silent.Problems[0], "nobody answers") {
		t.Errorf("without an answer: %+v, %q", silent.Instance, silent.Problems)
	}
}

// networkd still sets up the primary interface, though it has other names too, as each interface of
// EC2 has. For networkd `Name=!ens5` is true of an interface with another name besides. Its own
// file is read after ours, as 80-ec2.network of Amazon Linux is. Only the driver differs in this
// machine. The line that keeps it: pkg/model/aws_enis.go, furtherENIs (INTERFACE)
func TestPrimaryInterfaceStaysNetworkds(t *testing.T) {
	t.Parallel()
	s := newStore(t, "", nil)
	path, text := nodeDocument("node-1", "10.0.2.15", "[10.244.1.0/24]")
	s.write(t, path, text)
	s.write(t, "cluster.yaml", document("Cluster", cluster, greedySpec+s.pluginSpec(t)))
	boot := vm.Run(t, vm.Options{
		Payload: map[string]string{"netwright": agent(t), "store": s.dir},
		Boots: []string{`
			install -m 0755 netwright /usr/bin/netwright
			mkdir -p /etc/netwright; cp -r store /srv/netwright
			printf 'store: /srv/netwright\ncluster: ` + cluster + `\nnode: node-1\n' >/etc/netwright/agent.yaml
			until ip route | grep -q ^default; do sleep 0.1; done
			mv /run/systemd/network/10-uplink.network /run/systemd/network/80-ec2.network
			ip link property add dev eth0 altname enp0s5
			netwright --dry-run -o json >/run/plan || test $? = 2
			ip link add eth1 type veth peer name other1
			printf %b "$(sed -n '/"file:.run.systemd.network.75-netwright-enis.network"/,$s/.*"diff": "\(.*\)".*/\1/p' /run/plan | head -1)" |
				sed -n 's/^+//p' | sed 's/^Driver=.*/Driver=virtio_net veth/' >/run/systemd/network/75-netwright-enis.network
			cat /run/systemd/network/75-netwright-enis.network
			networkctl reload
			for i in $(seq 60); do networkctl --no-legend list eth1 | grep -q unmanaged && break; sleep 1; done
			for i in $(seq 60); do networkctl --no-legend list eth0 | grep -qE 'pending|configuring|initialized' || break; sleep 1; done
			networkctl --no-legend list eth1 | grep -q unmanaged
			networkctl --no-legend list eth0; cat /run/systemd/netif/links/$(cat /sys/class/net/eth0/ifindex)`},
	})[0]
	if boot.Code != 0 || !strings.Contains(boot.Output, "NETWORK_FILE=/run/systemd/network/80-ec2.network\n") || strings.Contains(boot.Output, "unmanaged") {
		t.Errorf("the script ended with %d:\n%s", boot.Code, boot.Output)
	}
}
