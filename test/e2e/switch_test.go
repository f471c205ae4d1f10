package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// decoys makes links, routes and files that bridge did not make: the names differ from bridge's by
// one letter, or belong to another program.
const decoys = `ip link add cbr1 type bridge && ip addr add 10.99.0.1/24 dev cbr1 && ip link set cbr1 up &&
ip route add 10.244.9.0/24 dev cbr1 proto 148 && nft add table ip netwrigh && mkdir -p /var/lib/cni/networks/netwright-bridg && touch /etc/cni/net.d/05-netwright-bridge.conflist.bak`

const decoysStay = `ip link show cbr1 && ip route show proto 148 | grep -q 10.244.9.0/24 && nft list table ip netwrigh && test -d /var/lib/cni/networks/netwright-bridg && test -e /etc/cni/net.d/05-netwright-bridge.conflist.bak`

// The documents of a node on bridge want flannel. Nothing happens until that is allowed, nor while
// flannel's agent still runs. Then all of bridge is removed, in order, and what only looks similar
// stays.
func TestSwitchNeedsLeave(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const conf, lab = "/etc/cni/net.d/05-netwright-bridge.conflist", "/etc/lab/motd"
	n := newSwitchNode(t, "    bridge: {}\n  fileAssets:\n"+assetFile(lab, "bridge\n"), "")
	web, system := runPod(ctx, t, n.Node, "web", false), runPod(ctx, t, n.Node, "system", true)
	runContainer(ctx, t, n.Node, web, "web") // the switch may remove it
	n.Shell(ctx, decoys)

	n.wants("    flannel: {backend: vxlan}\n")
	p := plan(ctx, t, n.Node, 2)
	if s := p.Switch; s == nil || s.From != "bridge" || s.To != "flannel" || s.Kind != report.Disruptive || s.Blocked == "" || len(s.Pods) != 1 || s.Pods[0] != "default/web" || len(s.Removes) == 0 {
		t.Fatalf("the plan says %+v", s)
	}
	if p.Network != "bridge" || p.Summary.Changes() != 0 {
		t.Errorf("beside it the plan is of %s, with %d changes; want bridge, which is right", p.Network, p.Summary.Changes())
	}
	n.Must(ctx, "ip", "link", "set", "cbr0", "down") // the agent repairs bridge, and does not only leave it alone
	if res := n.once(1); !strings.Contains(res.Stdout+res.Stderr, "is disruptive and not allowed, so the node keeps bridge") {
		t.Errorf("a run that may not switch says\n%s%s", res.Stdout, res.Stderr)
	}
	if !n.pings(web) || !n.has("test", "-e", "/etc/cni/net.d/05-netwright-bridge.conflist") || !n.has("systemctl", "is-active", "kubelet") {
		t.Fatal("bridge was not kept")
	}

	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, from: calico}\n")
	if res := n.once(1); !strings.Contains(res.Stdout+res.Stderr, "expects calico, so nothing is changed") || !n.pings(web) {
		t.Errorf("with another network expected:\n%s%s", res.Stdout, res.Stderr)
	}
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, pods: wait}\n")
	if res := n.once(3, "--wait", "1s"); !strings.Contains(res.Stdout, "(switch.pods is wait): drain the node") || !n.pings(web) {
		t.Errorf("with pods to wait for:\n%s%s", res.Stdout, res.Stderr)
	}

	n.Shell(ctx, "chattr +i "+conf+" "+lab)
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, from: bridge}\n")
	if res := n.once(3, "--wait", "1s"); !strings.Contains(res.Stdout, "file:"+conf+" to be removable") || !n.pings(web) {
		t.Errorf("with a conf that cannot be removed:\n%s%s", res.Stdout, res.Stderr)
	}

	// A file that the next network does not need keeps nothing back, and is removed when that is
	// possible.
	n.Must(ctx, "chattr", "-i", conf)
	since := strings.TrimSpace(n.Must(ctx, "date", "+%s"))
	res := n.once(0)
	if !strings.Contains(res.Stdout, "file:"+lab+" to be removable") {
		t.Errorf("with a file that cannot be removed:\n%s%s", res.Stdout, res.Stderr)
	}
	counts := regexp.MustCompile(`(to do|done): .* (\d+) removed`).FindAllStringSubmatch(res.Stdout, -1) // with what goes with a link
	if len(counts) != 2 || counts[0][2] != counts[1][2] {
		t.Errorf("planned and removed: %q", counts)
	}
	n.Shell(ctx, "test -e "+lab+"; chattr -i "+lab)
	if pods := podsOf(ctx, t, n.Node); pods["web"] || !pods["system"] {
		t.Errorf("pods after the switch: %v, want that on the node's own network alone", pods)
	}
	n.Must(ctx, "sh", "-c", decoysStay)
	for _, gone := range []string{
		"ip link show cbr0", "nft list table ip netwright", "ip route show proto 149 | grep -q .", "ls /etc/cni/net.d/*.conflist", "ls -d /var/lib/cni/networks/netwright-bridge /var/lib/cni/results/netwright-bridge-*",
		"ls /run/netns/cni-*", "iptables-save | grep -e CNI-HOSTPORT -e netwright",
	} {
		if n.has("sh", "-c", gone) {
			t.Errorf("still there: %s\n%s", gone, n.Run(ctx, "sh", "-c", gone).Stdout)
		}
	}
	var order []string
	for _, message := range messagesOf(t, n.Node, "--since @"+since+" -u kubelet -u containerd") {
		for mark, step := range map[string]string{"Stopped kubelet": "stopped", "StopPodSandbox for": "pod stopped", "RemovePodSandbox for": "pod removed", "Started kubelet": "started"} {
			if strings.Contains(message, mark) && (len(order) == 0 || order[len(order)-1] != step) {
				order = append(order, step)
			}
		}
	}
	if got := strings.Join(order, ", "); got != "stopped, pod stopped, pod removed, started" {
		t.Errorf("the journal has: %s", got)
	}
	n.once(0)
	n.Must(ctx, "test", "!", "-e", "/etc/lab")
	if p := plan(ctx, t, n.Node, 0); p.Network != "flannel" || p.Switch != nil || p.Summary.Changes() != 0 {
		t.Errorf("after it: network %s, %+v, %d changes", p.Network, p.Switch, p.Summary.Changes())
	}

	// The node switches back, with a pod of flannel's agent. While that pod runs, nothing is
	// changed.
	agent := runPod(ctx, t, n.Node, "kube-flannel-ds", true)
	runContainer(ctx, t, n.Node, agent, "kube-flannel")
	n.wants("    bridge: {}\n")
	before := n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "kubelet")
	if res := n.once(1, "--allow-disruptive"); !strings.Contains(res.Stdout+res.Stderr, "container kube-flannel of pod default/kube-flannel-ds") {
		t.Errorf("while its agent runs:\n%s%s", res.Stdout, res.Stderr)
	}
	if n.has("ip", "link", "show", "cbr0") || n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "kubelet") != before {
		t.Error("something was done while flannel's agent ran")
	}
	removePod(ctx, t, n.Node, agent)
	n.once(0, "--allow-disruptive")
	if again := runPod(ctx, t, n.Node, "again", false); !n.pings(again) {
		t.Error("a pod on bridge does not answer")
	}
	removePod(ctx, t, n.Node, system)
}

// messagesOf returns messages of a node's journal in the order in which they were sent, where that
// is known. journald reads them from several sockets, and a busy machine may change their order.
func messagesOf(t *testing.T, n *node.Node, which string) (texts []string) {
	t.Helper()
	type message struct {
		Text     any    `json:"MESSAGE"`                    // bytes if it is no text
		Sent     string `json:"_SOURCE_REALTIME_TIMESTAMP"` // microseconds
		Received string `json:"__REALTIME_TIMESTAMP"`
	}
	var all []message
	decoder := json.NewDecoder(strings.NewReader(n.Shell(t.Context(), "journalctl --sync; journalctl -q -o json --output-fields=MESSAGE,_SOURCE_REALTIME_TIMESTAMP "+which)))
	for decoder.More() {
		var one message
		if err := decoder.Decode(&one); err != nil {
			t.Fatalf("reading the journal: %v", err)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b message) int {
		return strings.Compare(cmp.Or(a.Sent, a.Received), cmp.Or(b.Sent, b.Received))
	})
	for _, one := range all {
		texts = append(texts, fmt.Sprint(one.Text))
	}
	return texts
}
