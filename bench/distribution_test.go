package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A node has what the nodes of clusters have: the list of modules of a distribution's kernel,
// containerd (from test/node's base), kubelet with its files, the links of its pods, and the chains
// of kube-proxy. All of it is the same on every machine, and for every contender.
const (
	pods      = 110 // kubelet's own limit
	services  = 100
	endpoints = 3 // for each service
	modules   = 4_200
)

// modulesDep returns depmod's list for a generic kernel, as Debian and Ubuntu have it: 520 kB. The
// names that networks need are spread over it, without those that the job loads.
func modulesDep() string {
	wanted := strings.Fields("drivers/net/dummy drivers/net/geneve drivers/net/ipvlan/ipvlan drivers/net/macvlan drivers/net/tun drivers/net/veth " +
		"drivers/net/vxlan/vxlan drivers/net/wireguard/wireguard net/8021q/8021q net/bridge/bridge net/ipv4/esp4 net/ipv4/fou net/ipv4/ip_gre net/ipv4/ipip " +
		"net/ipv4/netfilter/ip_tables net/ipv6/esp6 net/ipv6/fou6 net/ipv6/ip6_tunnel net/netfilter/ipset/ip_set net/netfilter/ipvs/ip_vs " +
		"net/netfilter/ipvs/ip_vs_rr net/netfilter/nf_tables net/netfilter/nfnetlink_queue net/netfilter/xt_set net/openvswitch/openvswitch net/xfrm/xfrm_user")
	path := func(i int) string {
		if i%(modules/len(wanted)) == 0 && i/(modules/len(wanted)) < len(wanted) {
			return "kernel/" + wanted[i/(modules/len(wanted))] + ".ko.xz"
		}
		return fmt.Sprintf("kernel/drivers/vendor%02d/family%03d/made_up_%04d.ko.xz", i%40, i%300, i)
	}
	var out strings.Builder
	for i := range modules {
		out.WriteString(path(i) + ":")
		for n := range [7]int{0, 1, 2, 0, 3, 1, 2}[i%7] {
			out.WriteString(" " + path((i*31+n*977)%modules))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// kubelet has the files of kubelet that belong to a node's owner: its unit with a drop-in, its
// configuration and credentials. Its program prints its version and waits. It is not set up by
// kubeadm, which owns /etc/kubernetes.
var kubelet = map[string]string{
	"/usr/bin/kubelet": "#!/bin/sh\n[ \"$1\" = --version ] && exec echo Kubernetes v1.33.0\nexec sleep infinity\n",
	"/usr/lib/systemd/system/kubelet.service": `[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target containerd.service

[Service]
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
`,
	"/etc/systemd/system/kubelet.service.d/10-config.conf": "[Service]\nEnvironment=\"KUBELET_CONFIG_ARGS=--kubeconfig=/var/lib/kubelet/kubeconfig --config=/var/lib/kubelet/config.yaml\"\n",
	"/etc/default/kubelet":                                 "KUBELET_EXTRA_ARGS=--node-ip=10.77.0.11\n",
	"/var/lib/kubelet/config.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
maxPods: 110
rotateCertificates: true
`,
	"/var/lib/kubelet/kubeconfig": `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.77.0.1:6443"}}]
contexts: [{name: c, context: {cluster: c, user: node}}]
current-context: c
users: [{name: node, user: {client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem}}]
`,
}

// distribution returns the files of the node from before its boot.
func distribution(t testing.TB) map[string]string {
	t.Helper()
	list := modulesDep()
	if len(list) < 500_000 || len(list) > 540_000 {
		t.Fatalf("modules.dep has %d bytes, want 520 kB", len(list))
	}
	files := maps.Clone(kubelet)
	files[modulesPath(t)] = list
	return files
}

// modulesPath returns the path of depmod's list.
func modulesPath(t testing.TB) string {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatalf("asking for the kernel's release: %v", err)
	}
	return "/lib/modules/" + unix.ByteSliceToString(name.Release[:]) + "/modules.dep"
}

// furnish gives the node depmod's list and a runtime, as a distribution does, or removes them.
func (m *machine) furnish(ctx context.Context, furnished bool) {
	m.t.Helper()
	if m.plain != furnished {
		return
	}
	list := filepath.Join(m.Root(), modulesPath(m.t))
	from, to, verb := list, list+".aside", "stop"
	if furnished {
		from, to, verb = to, from, "start"
	}
	if err := os.Rename(from, to); err != nil {
		m.t.Fatalf("furnishing the node: %v", err)
	}
	m.Must(ctx, "systemctl", verb, "containerd")
	m.plain = !furnished
	awaitQuiet(ctx, max(*patience, 2*time.Second)) // its start counts for no contender
}

// podLinks returns commands of `ip -batch`: a veth for each pod, with its route, as Calico makes
// them. The other ends are in one namespace, in place of those of all pods.
func podLinks() string {
	var out strings.Builder
	for i := range pods {
		name := fmt.Sprintf("cali%011x", (i+1)*0x9E3779B1)
		fmt.Fprintf(&out, "link add %s type veth peer name eth%d netns pods\nlink set %[1]s up\nroute add 10.244.1.%[3]d dev %[1]s scope link\n", name, i, i+2)
	}
	return out.String()
}

// serviceChains returns the chains of kube-proxy in mode iptables: one for each service and for
// each endpoint.
func serviceChains() string {
	var out, toServices strings.Builder
	out.WriteString("table ip filter {\n chain KUBE-FORWARD {\n  ct state invalid drop\n  meta mark & 0x4000 == 0x4000 accept\n  ct state related,established accept\n }\n" +
		" chain FORWARD {\n  type filter hook forward priority filter; policy accept;\n  jump KUBE-FORWARD\n }\n}\ntable ip nat {\n" +
		" chain KUBE-MARK-MASQ {\n  meta mark set meta mark | 0x4000\n }\n" +
		" chain KUBE-POSTROUTING {\n  meta mark & 0x4000 != 0x4000 return\n  meta mark set meta mark ^ 0x4000\n  masquerade fully-random\n }\n" +
		" chain POSTROUTING {\n  type nat hook postrouting priority srcnat; policy accept;\n  jump KUBE-POSTROUTING\n }\n")
	for s := range services {
		svc := fmt.Sprintf("KUBE-SVC-%016X", (s+1)*0x9E3779B1)
		var jumps strings.Builder
		for e := range endpoints {
			sep := fmt.Sprintf("KUBE-SEP-%014X%02X", (s+1)*0x9E3779B1, e)
			address := fmt.Sprintf("10.244.%d.%d", 1+e, 2+s)
			fmt.Fprintf(&out, " chain %s {\n  ip saddr %s counter jump KUBE-MARK-MASQ\n  tcp dport 1-65535 counter dnat to %[2]s:8080\n }\n", sep, address)
			fmt.Fprintf(&jumps, "  ip protocol tcp counter jump %s\n", sep)
		}
		fmt.Fprintf(&out, " chain %s {\n%s }\n", svc, jumps.String())
		fmt.Fprintf(&toServices, "  ip daddr 10.96.%d.%d tcp dport 80 counter jump %s\n", s/250, 10+s%250, svc)
	}
	fmt.Fprintf(&out, " chain KUBE-SERVICES {\n%s }\n chain PREROUTING {\n  type nat hook prerouting priority dstnat; policy accept;\n  jump KUBE-SERVICES\n }\n"+
		" chain OUTPUT {\n  type nat hook output priority -100; policy accept;\n  jump KUBE-SERVICES\n }\n}\n", toServices.String())
	return out.String()
}

// inhabit makes what a running node has: containerd answers, pods have links, and kube-proxy has
// written its chains.
func (m *machine) inhabit(ctx context.Context) {
	m.t.Helper()
	m.put(map[string]string{home + "/links": podLinks(), home + "/chains": serviceChains()})
	m.Must(ctx, "/bin/sh", "-euc", "systemctl enable -q --now kubelet; ip netns add pods; ip -batch "+home+"/links; nft -f "+home+"/chains")
	if !m.Await(ctx, "test -S /run/containerd/containerd.sock && systemctl -q is-active containerd kubelet") {
		m.t.Fatal("containerd or kubelet does not run")
	}
	count := m.Must(ctx, "/bin/sh", "-euc", "ip -o link show type veth | grep -c cali; nft list chains | grep -c KUBE-SEP")
	if want := fmt.Sprintf("%d\n%d\n", pods, services*endpoints); count != want {
		m.t.Fatalf("the node has pods' links and endpoints' chains %q, want %q", count, want)
	}
}
