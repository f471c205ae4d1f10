package packages

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// document is a cluster whose network another program sets up.
const document = `apiVersion: netwright.dev/v1alpha1
kind: Cluster
metadata: {name: packages.example.com}
spec:
  kubernetesVersion: 1.33.0
  nonMasqueradeCIDR: 10.0.0.0/8
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/12
  networking: {cni: {}}
  assets:
  - name: cni-plugins
    arch: {%s: {sha256: %s, urls: [assets/plugins.tgz]}}
`

const nodeDocument = `apiVersion: netwright.dev/v1alpha1
kind: Node
metadata: {name: node-1}
spec: {podCIDRs: [10.244.1.0/24]}
`

// fresh boots a node with a store, and with packages of this kind and of both versions in /root.
// Nothing of the agent is installed.
func fresh(t testing.TB, kind string, copies map[string]string) *node.Node {
	t.Helper()
	older, newer := versions(t, kind)
	archive, sum := assets.CNIArchive(t)
	const store = "/srv/netwright/packages.example.com/"
	all := map[string]string{"/root/older." + kind: older, "/root/newer." + kind: newer, store + "assets/plugins.tgz": archive}
	maps.Copy(all, copies)
	n := node.NewFabric(t).Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Copies: all, Files: map[string]string{
		store + "cluster.yaml": fmt.Sprintf(document, runtime.GOARCH, sum), store + "nodes/node-1.yaml": nodeDocument,
	}})
	n.Must(t.Context(), "rm", "-f", "/var/lib/man-db/auto-update") // each package would read all manual pages again
	return n
}

// state returns what systemd says of the daemon.
func state(ctx context.Context, n *node.Node) string {
	said := strings.Fields(n.Must(ctx, "systemctl", "show", "netwright-agent", "--property=UnitFileState,ActiveState,Result"))
	slices.Sort(said) // ActiveState, Result, UnitFileState
	for i, property := range said {
		_, said[i], _ = strings.Cut(property, "=")
	}
	return strings.Join(said, " ")
}

func want(t testing.TB, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: %q, want %q", what, got, wanted)
	}
}

// converges starts the daemon with a configuration, and checks that it works.
func converges(ctx context.Context, t testing.TB, n *node.Node) {
	t.Helper()
	n.Shell(ctx, `sysctl -qw net.ipv4.ip_forward=0; echo 'store: /srv/netwright' >>/etc/netwright/agent.yaml; systemctl start netwright-agent`)
	want(t, "started", state(ctx, n), "active success enabled")
	want(t, "forwarding", strings.TrimSpace(n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward")), "1")
}

// runsTheInstalled waits until the daemon is the installed program.
func runsTheInstalled(ctx context.Context, n *node.Node) {
	n.Shell(ctx, `until pid=$(systemctl show netwright-agent -P MainPID); cmp -s /proc/$pid/exe /usr/bin/netwright && systemctl -q is-active netwright-agent; do sleep .1; done`)
}

// The test has the whole life of a .deb by dpkg. Nothing starts without being asked, an
// administrator's settings stay, and a purge removes everything.
func TestDebian(t *testing.T) {
	t.Parallel()
	ctx, n := t.Context(), fresh(t, "deb", nil)
	const listed = `find /etc /opt /usr /var -xdev ! -type d ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/var/cache/*' ! -path '/var/tmp/*' ! -path '/var/lib/systemd/*' | sort`
	before := n.Shell(ctx, listed)

	n.Shell(ctx, `printf '#!/bin/sh\necho another\n' >/usr/bin/agent; chmod +x /usr/bin/agent`)
	said := n.Must(ctx, "dpkg", "--install", "/root/older.deb")
	if !strings.Contains(said, "/usr/bin/agent is another program") || !strings.Contains(said, "systemctl start netwright-agent") {
		t.Errorf("install says: %s", said)
	}
	want(t, "another's agent", n.Must(ctx, "agent"), "another\n")
	n.Shell(ctx, `rm /usr/bin/agent; dpkg --install /root/older.deb`)
	want(t, "the link", n.Must(ctx, "readlink", "/usr/bin/agent"), "netwright\n")

	want(t, "fresh", state(ctx, n), "inactive success enabled")
	n.Shell(ctx, `systemctl start netwright-agent; while systemctl show -P ActiveState netwright-agent | grep -qx -e active -e deactivating; do sleep .1; done`) // without a store: no failure
	want(t, "without a store", state(ctx, n), "inactive success enabled")
	n.Reboot(ctx) // fails if a unit fails
	if log := n.Shell(ctx, "journalctl --sync; journalctl -b -t netwright -o cat"); !strings.Contains(log, "no state store is named") {
		t.Errorf("the journal of a boot without a store: %s", log)
	}
	converges(ctx, t, n)
	conf := n.Read("/etc/netwright/agent.yaml")

	n.Must(ctx, "dpkg", "--install", "/root/newer.deb")
	runsTheInstalled(ctx, n)
	n.Must(ctx, "systemctl", "disable", "netwright-agent")
	n.Must(ctx, "dpkg", "--install", "/root/older.deb") // a downgrade
	runsTheInstalled(ctx, n)
	want(t, "disabled by hand", state(ctx, n), "active success disabled")
	want(t, "the edited conffile", n.Read("/etc/netwright/agent.yaml"), conf)

	n.Must(ctx, "systemctl", "enable", "netwright-agent")
	if said := n.Must(ctx, "dpkg", "--remove", "netwright"); !strings.Contains(said, "netwright reset") {
		t.Errorf("remove says: %s", said)
	}
	n.Shell(ctx, `[ ! -e /usr/bin/netwright ]; [ ! -L /usr/bin/agent ]; [ "$(systemctl is-active netwright-agent)" != active ]; [ -s /var/lib/netwright/journal ]`)
	want(t, "the conffile of a removed package", n.Read("/etc/netwright/agent.yaml"), conf)
	want(t, "forwarding when the package went", strings.TrimSpace(n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward")), "1")
	n.Shell(ctx, `dpkg --purge netwright; [ ! -e /etc/netwright ]; [ -s /var/lib/netwright/journal ]`) // a reset still needs it

	n.Shell(ctx, `dpkg --install /root/newer.deb; netwright reset; dpkg --purge netwright`)
	want(t, "files after a purge", n.Shell(ctx, listed), before)
}

// The same life of an .rpm by rpm. rpm is copied into the node, since no Debian installs it.
func TestRPM(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "rpm")
	ctx, n := t.Context(), fresh(t, "rpm", rpmItself(t))
	rpm := func(args ...string) string { return n.Must(ctx, "rpm", append([]string{"--nodeps"}, args...)...) } // its database has no systemd

	if said := rpm("-i", "/root/older.rpm"); !strings.Contains(said, "systemctl start netwright-agent") {
		t.Errorf("install says: %s", said)
	}
	want(t, "fresh", state(ctx, n), "inactive success enabled")
	want(t, "the link", n.Must(ctx, "readlink", "/usr/bin/agent"), "netwright\n")
	n.Must(ctx, "rpm", "-V", "--nodeps", "netwright")
	converges(ctx, t, n)
	conf := n.Read("/etc/netwright/agent.yaml")

	rpm("-U", "/root/newer.rpm")
	runsTheInstalled(ctx, n)
	n.Must(ctx, "systemctl", "disable", "netwright-agent")
	rpm("-U", "--oldpackage", "/root/older.rpm")
	runsTheInstalled(ctx, n)
	want(t, "disabled by hand", state(ctx, n), "active success disabled")
	want(t, "the edited configuration", n.Read("/etc/netwright/agent.yaml"), conf)
	want(t, "the link after upgrades", n.Must(ctx, "readlink", "/usr/bin/agent"), "netwright\n")

	if said := rpm("-e", "netwright"); !strings.Contains(said, "netwright reset") {
		t.Errorf("erase says: %s", said)
	}
	n.Shell(ctx, `[ ! -e /usr/bin/netwright ]; [ ! -L /usr/bin/agent ]; [ "$(systemctl is-active netwright-agent)" != active ]; [ -s /var/lib/netwright/journal ]
! [ -e /etc/systemd/system/sysinit.target.wants/netwright-undo.service ]`)
	want(t, "the configuration of an erased package", n.Read("/etc/netwright/agent.yaml.rpmsave"), conf)
	n.Shell(ctx, `rpm -i --nodeps /root/newer.rpm; netwright reset; rpm -e netwright; ! [ -e /var/lib/netwright ]`)

	// A preset of the host comes before the package's.
	n.Write("/etc/systemd/system-preset/10-site.preset", "disable netwright-*\n", 0o644)
	if said := rpm("-i", "/root/older.rpm"); !strings.Contains(said, "netwright: not enabled, by a preset of this host") {
		t.Errorf("install says: %s", said)
	}
	want(t, "by a preset", state(ctx, n), "inactive success disabled")
}

// rpmItself returns this machine's rpm and its dependencies that a node lacks, as files to copy.
func rpmItself(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{"/usr/bin/rpm": needs.Path("rpm"), "/usr/lib/rpm": "/usr/lib/rpm"}
	libraries, err := exec.Command("ldd", needs.Path("rpm")).Output()
	if err != nil {
		t.Fatal(err)
	}
	base := node.Base(t)
	for line := range strings.Lines(string(libraries)) {
		fields := strings.Fields(line)
		at := slices.Index(fields, "=>")
		if at < 0 {
			continue
		}
		path := "/usr" + fields[at+1]
		if _, err := os.Stat(base + path); err == nil {
			continue
		}
		file, err := filepath.EvalSymlinks(fields[at+1])
		if err != nil {
			t.Fatal(err)
		}
		out[path] = file
	}
	return out
}
