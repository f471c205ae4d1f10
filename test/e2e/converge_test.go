package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

const bridgeSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    bridge: {}
`

// bridgeStore returns the store of a cluster of two nodes with the bridge network.
func bridgeStore(t testing.TB) store {
	t.Helper()
	s := newStore(t, bridgeSpec, nil)
	for name, at := range map[string][2]string{"node-1": {"10.77.0.11", "[10.244.1.0/24]"}, "node-2": {"10.77.0.12", "[10.244.2.0/24]"}} {
		path, text := nodeDocument(name, at[0], at[1])
		s.write(t, path, text)
	}
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)))
	return s
}

// A machine image that contains the agent boots for the first time. systemd starts the agent, and
// the node is prepared.
func TestFirstBoot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{Enable: []string{"netwright-agent.service"}}))

	if state := n.Must(ctx, "systemctl", "is-system-running"); state != "running\n" {
		t.Errorf("the system is %q", state)
	}
	show := n.Must(ctx, "systemctl", "show", "-p", "ActiveState,SubState,StatusText,NRestarts", "netwright-agent")
	for _, want := range []string{"ActiveState=active", "SubState=running", "NRestarts=0", "StatusText=bridge"} {
		if !strings.Contains(show, want) {
			t.Errorf("the unit is not %s:\n%s", want, show)
		}
	}
	checkBridgeNode(t, n)
	if got := taken(t, n); got != 0 {
		t.Errorf("the first configuration took %d checkpoints, of changes that are all proved harmless", got)
	}

	// A second run beside the daemon, and one after it, change nothing, not even a time, an inode
	// or a handle of a rule.
	before := n.Snapshot()
	n.Must(ctx, "netwright", "--once")
	if diff := quiet(node.Diff(before, n.Snapshot())); len(diff) > 0 {
		t.Errorf("a second run changed the node:\n%s", strings.Join(diff, "\n"))
	}
	if p := plan(ctx, t, n, 0); p.Summary.Changes() != 0 {
		t.Errorf("a dry run after it still plans %d changes", p.Summary.Changes())
	}
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	if res := n.Must(ctx, "systemctl", "show", "-p", "Result", "netwright-agent"); res != "Result=success\n" {
		t.Errorf("the daemon did not stop well: %s", res)
	}
	if failed := n.Must(ctx, "systemctl", "--failed", "--no-legend"); failed != "" {
		t.Errorf("failed units: %s", failed)
	}
	n.Reboot(ctx)
	checkBridgeNode(t, n)
	if p := plan(ctx, t, n, 0); p.Summary.Changes() != 0 {
		t.Errorf("after a reboot %d changes are left", p.Summary.Changes())
	}
}

// checkBridgeNode compares node-1 of bridgeStore with what its documents want, by the system's own
// tools.
func checkBridgeNode(t *testing.T, n *node.Node) {
	t.Helper()
	ctx := t.Context()
	var links []struct {
		Flags []string `json:"flags"`
		MTU   int      `json:"mtu"`
		Info  []struct {
			Local     string `json:"local"`
			Prefixlen int    `json:"prefixlen"`
		} `json:"addr_info"`
	}
	out := n.Must(ctx, "ip", "-json", "address", "show", "dev", "cbr0")
	if err := json.Unmarshal([]byte(out), &links); err != nil || len(links) != 1 {
		t.Fatalf("ip: %v\n%s", err, out)
	}
	l := links[0]
	if !slices.Contains(l.Flags, "UP") || l.MTU != 1500 || !slices.ContainsFunc(l.Info, func(a struct {
		Local     string `json:"local"`
		Prefixlen int    `json:"prefixlen"`
	}) bool {
		return a.Local == "10.244.1.1" && a.Prefixlen == 24
	}) {
		t.Errorf("cbr0 is not up with MTU 1500 and 10.244.1.1/24:\n%s", out)
	}
	if out := n.Must(ctx, "ip", "route", "show", "10.244.2.0/24"); !strings.Contains(out, "via 10.77.0.12 dev host0") {
		t.Errorf("no route to the other node's pods: %q", out)
	}
	if out := n.Must(ctx, "nft", "list", "ruleset"); !strings.Contains(out, "masquerade") || !strings.Contains(out, "10.0.0.0/8") {
		t.Errorf("nothing is masqueraded for what leaves 10.0.0.0/8:\n%s", out)
	}
	for key, want := range map[string]string{
		"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": "1", "net.bridge.bridge-nf-call-ip6tables": "1",
		"net.ipv4.ip_local_reserved_ports": "30000-32767", "net.ipv4.tcp_slow_start_after_idle": "0",
	} {
		if got := strings.TrimSpace(n.Must(ctx, "sysctl", "-n", key)); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	for path, want := range map[string]string{
		"/opt/cni/bin/bridge": "755 root root regular file", "/opt/cni/bin/host-local": "755 root root regular file",
		"/opt/cni/bin/portmap": "755 root root regular file", "/opt/cni/bin/loopback": "755 root root regular file",
		"/etc/cni/net.d": "755 root root directory", "/etc/sysctl.d/99-netwright.conf": "644 root root regular file",
		"/etc/modules-load.d/netwright.conf": "644 root root regular file",
	} {
		if got := strings.TrimSpace(n.Must(ctx, "stat", "-c", "%a %U %G %F", path)); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if out := n.Must(ctx, "ls", "/opt/cni/bin"); strings.Contains(out, "dhcp") {
		t.Errorf("plugins that nobody named are installed:\n%s", out)
	}
	sysctls := n.Read("/etc/sysctl.d/99-netwright.conf")
	first := ""
	for line := range strings.Lines(sysctls) {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			first = line
			break
		}
	}
	if !strings.Contains(first, "net.ipv4.ip_forward") {
		t.Errorf("ip_forward is not the first sysctl: %q", first)
	}
	if leftovers := n.Shell(ctx, `find / -xdev -name '*.netwright-*' 2>/dev/null || true`); leftovers != "" {
		t.Errorf("staged files are left:\n%s", leftovers)
	}
}

// A run changes exactly what the dry run before it listed. The dry run itself changes nothing.
func TestDryRunListsWhatChanges(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "a dry run must never write")
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))

	before := n.Snapshot()
	p := plan(ctx, t, n, 2)
	if diff := quiet(node.Diff(before, n.Snapshot())); len(diff) > 0 {
		t.Errorf("a dry run changed the node:\n%s", strings.Join(diff, "\n"))
	}
	listed := keys(p)
	if len(listed) < 20 {
		t.Errorf("only %d keys are listed: %v", len(listed), listed)
	}
	hostWide := 0
	for _, step := range p.Steps {
		if step.State == report.NotApplicable {
			hostWide++
		}
	}
	if hostWide == 0 {
		t.Error("no host-wide sysctl is listed as not set here")
	}
	n.Must(ctx, "netwright", "--once")
	listedIsDone(t, listed, changedKeys(t, node.Diff(before, n.Snapshot())))
}

// changedKeys turns a difference of snapshots into the agent's names for the same things.
func changedKeys(t *testing.T, diff []string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, line := range diff {
		mark, rest, _ := strings.Cut(line, " ")
		kind, what, _ := strings.Cut(rest, " ")
		name, state, _ := strings.Cut(what, ": ")
		switch {
		case kind == "file" && !strings.HasPrefix(name, "/var/lib/netwright/") && !strings.HasPrefix(name, "/run/") && !touched(t, mark, name, state):
			out["file:"+name] = true
		case kind == "sysctl" && !follows(name):
			out["sysctl:"+name] = true
		case mark == "+" && strings.HasPrefix(what, "{"):
			for _, key := range objectKeys(t, kind, what[:strings.LastIndex(what, "}")+1]) {
				out[key] = true
			}
		}
	}
	return out
}

// objectKeys returns the keys of what ip or nft printed, without what the kernel makes by itself:
// link-local addresses, connected and local routes.
func objectKeys(t *testing.T, kind, object string) (keys []string) {
	t.Helper()
	var o struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local  string `json:"local"`
			Prefix int    `json:"prefixlen"`
			Scope  string `json:"scope"`
		} `json:"addr_info"`
		Dst      string `json:"dst"`
		Table    any    `json:"table"` // of a route: its table number; of nft: a table
		Protocol string `json:"protocol"`
	}
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, object)
	}
	switch kind {
	case "link":
		keys = append(keys, "link:"+o.Name)
	case "address":
		for _, a := range o.Addresses {
			if a.Scope == "global" {
				keys = append(keys, fmt.Sprintf("address:%s/%s/%d", o.Name, a.Local, a.Prefix))
			}
		}
	case "route", "route6":
		if o.Protocol != "kernel" && (o.Table == nil || o.Table == "main") {
			keys = append(keys, "route:254/"+o.Dst)
		}
	case "nft":
		if table, ok := o.Table.(map[string]any); ok {
			keys = append(keys, fmt.Sprintf("nft:%s/%s", table["family"], table["name"]))
		}
	}
	return keys
}

// touched says whether a directory was there before and only its times changed, since a file was
// put into it. A directory of the base image appears as new in the overlay's upper layer.
func touched(t *testing.T, mark, path, state string) bool {
	t.Helper()
	before, after, _ := strings.Cut(state, " → ")
	if mark == "+" {
		info, err := os.Lstat(filepath.Join(node.Base(t), path))
		return err == nil && info.IsDir() && strings.HasPrefix(state, fmt.Sprintf("mode=4%04o ", info.Mode().Perm()))
	}
	mode, _, _ := strings.Cut(before, " inode")
	return mark == "~" && strings.HasPrefix(before, "mode=4") && strings.HasPrefix(after, mode+" ")
}

// follows says whether the kernel changes a sysctl by itself. It does so for the sysctls of a new
// link, and for those that net.ipv4.ip_forward resets: forwarding and accept_redirects of every
// link (https://docs.kernel.org/networking/ip-sysctl.html).
func follows(key string) bool {
	return strings.Contains(key, ".cbr0.") || strings.HasPrefix(key, "net.ipv4.conf.") &&
		(strings.HasSuffix(key, ".forwarding") || strings.HasSuffix(key, ".accept_redirects"))
}

// quiet removes from a difference what is no change of the node. systemd-run makes transient units.
// A daemon that runs beside the test rewrites its status up to two seconds after a change, and
// stages the new file beside the old one.
func quiet(diff []string) []string {
	return slices.DeleteFunc(diff, func(line string) bool {
		return strings.HasPrefix(line, "~ file /run/systemd: mode=4") || strings.HasPrefix(line, "~ file /run/netwright: mode=4") ||
			strings.HasPrefix(line, "~ file /run/netwright/status.json: ") || strings.Contains(line, " file /run/netwright/.netwright-")
	})
}
