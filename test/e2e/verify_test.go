package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

const stale = "/etc/cni/net.d/00-stale.conflist"

// With the real containerd and the real plugins `agent verify` finds all well. It names each thing
// that the test breaks, and finds all well again after the repair.
func TestVerify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	if res := n.Run(ctx, "netwright", "verify"); res.Code != 3 || !strings.Contains(res.Stdout, "no 05-netwright-bridge.conflist") {
		t.Errorf("before the first run: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Must(ctx, "netwright", "--once")
	verified(ctx, t, n, 0, "containerd has loaded network")

	plugin := func(supports string) string {
		return "#!/bin/sh\necho '{\"cniVersion\":\"1.0.0\",\"supportedVersions\":[" + supports + "]}'\n"
	}
	const conf, given = "/etc/cni/net.d/05-netwright-bridge.conflist", "/var/lib/cni/networks/netwright-bridge"
	for _, c := range []struct {
		name  string
		spoil func()
		says  string
		mend  func()
	}{
		{"a stale conf that wins by its name", func() { n.Write(stale, `{"cniVersion":"1.0.0","name":"stale","plugins":[{"type":"ptp"}]}`, 0o644) },
			stale, func() { n.Must(ctx, "rm", stale) }},
		{"a plugin that is not executable", func() { n.Must(ctx, "chmod", "0644", "/opt/cni/bin/portmap") },
			"/opt/cni/bin/portmap is not executable (mode 0644)", func() { n.Must(ctx, "chmod", "0755", "/opt/cni/bin/portmap") }},
		{"a plugin that knows less than the conf asks for", func() { n.Write("/opt/cni/bin/bridge", plugin(`"0.3.1","0.4.0"`), 0o755) },
			"/opt/cni/bin/bridge supports spec 0.3.1, 0.4.0, and is called with", nil},
		{"a plugin too old for the runtime", func() { n.Write("/opt/cni/bin/loopback", plugin(`"0.1.0"`), 0o755) },
			"/opt/cni/bin/loopback supports spec 0.1.0, and is called with 0.3.1", nil},
		{"no plugin at all", func() { n.Must(ctx, "rm", "/opt/cni/bin/host-local") }, "host-local, which bridge calls, is not in", nil},
		{"addresses of pods that are gone", func() {
			n.Shell(ctx, "mkdir -p "+given+"; for i in $(seq 2 254); do printf 'gone\\r\\neth0' >"+given+"/10.244.1.$i; done")
		}, "it gave out all 253 (a file for each in " + given + "), 253 to pods that are gone", func() { n.Must(ctx, "rm", "-r", given) }},
		{"the runtime's socket was removed", func() { n.Must(ctx, "rm", "/run/containerd/containerd.sock") },
			"containerd does not answer over CRI: containerd.service runs, and its socket was removed", func() { n.Must(ctx, "systemctl", "restart", "containerd") }},
		{"the runtime does not start", func() {
			n.Shell(ctx, "cp /etc/containerd/config.toml /run/good.toml; echo broken >>/etc/containerd/config.toml; systemctl restart containerd || true")
		}, "containerd.service does not stay up", func() { n.Shell(ctx, "cp /run/good.toml /etc/containerd/config.toml; systemctl restart containerd") }},
		{"the bridge is down", func() { n.Must(ctx, "ip", "link", "set", "cbr0", "down") }, "cbr0 is down", nil},
		// containerd does not notice a file that is moved in from another directory.
		{"a conf that containerd has not seen change", func() {
			n.Shell(ctx, "sed 's/portMappings/portMapping/' "+conf+" >/etc/cni/moved && mv /etc/cni/moved "+conf)
		}, "as it was before its last change", nil},
	} {
		c.spoil()
		verified(ctx, t, n, 1, c.says)
		if c.mend == nil {
			c.mend = func() { n.Must(ctx, "netwright", "--once", "--verify") }
		}
		c.mend()
		verified(ctx, t, n, 0, "containerd has loaded network")
		if t.Failed() {
			t.Fatalf("%s: see above", c.name)
		}
	}
}

// verified waits until verify ends with this code and these words. containerd loads a conf a moment
// after the file is there.
func verified(ctx context.Context, t *testing.T, n *node.Node, code int, says string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // only so that a test that hangs ends
	for {
		res := n.Run(ctx, "netwright", "verify")
		if res.Code == code && strings.Contains(res.Stdout, says) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("exit %d, want %d and %q\n%s%s", res.Code, code, says, res.Stdout, res.Stderr)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// A host that cannot carry its network is not touched: no file is even written again with the same
// text. Every command and the daemon say why. TestMachine tests a module that the kernel does not
// have, since a container has no modules of its own.
func TestRefusedHostIsNotTouched(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const spec = "cluster.yaml"
	of := func(network, more string) string {
		return document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", network, 1)+more)
	}
	s := newStore(t, bridgeSpec, nil)
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "install", "-d", "-m", "0700", "/var/lib/netwright") // as the agent makes it; and systemd a directory for the units of commands
	for name, c := range map[string]struct{ spec, says string }{
		"cloud":      {of("amazonVPC: {}", "  cloudProvider: gce\n"), "works on aws only (pods have addresses of an AWS VPC), and the cloud is gce"},
		"kernel":     {of("custom: {title: of tomorrow, conf: {writer: user}, requires: {kernel: 99.1}}", ""), "it needs Linux 99.1 or newer, and this node runs "},
		"huge pages": {of("custom: {title: on a card, conf: {writer: user}, requires: {hugepages: 1G}}", ""), "it needs huge pages of 1G, and "},
		"MTU":        {of("ovnKubernetes: {mtu: 1450}", ""), "Geneve adds 58, and host0 has MTU 1500"},
	} {
		t.Run(name, func(t *testing.T) {
			n.Write("/srv/netwright/"+cluster+"/"+spec, c.spec, 0o644)
			before := n.Snapshot()
			for _, args := range [][]string{{"--dry-run"}, {"--once"}, {"verify"}} {
				res := n.Run(ctx, "netwright", args...)
				if res.Code != 1 || !strings.Contains(res.Stderr, c.says) {
					t.Errorf("%q: exit %d, want 1 and %q\n%s%s", args, res.Code, c.says, res.Stdout, res.Stderr)
				}
			}
			n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
			until(t, n, "the daemon says why it is not prepared", "systemctl show -P StatusText netwright-agent | grep -q 'not converged: build the tasks of node-1: use '")
			if state := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "-P", "ActiveState", "netwright-agent")); state != "activating" {
				t.Errorf("the daemon is %s: kubelet would start", state)
			}
			n.Must(ctx, "systemctl", "stop", "netwright-agent")
			touched := slices.DeleteFunc(node.Diff(before, n.Snapshot()), func(line string) bool {
				return strings.Contains(line, " file /run/netwright") || strings.Contains(line, "~ file /run: ") || strings.Contains(line, " file /run/systemd")
			})
			if len(touched) > 0 {
				t.Errorf("a refused host was touched:\n%s", strings.Join(touched, "\n"))
			}
		})
	}
}
