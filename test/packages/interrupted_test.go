package packages

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// killDpkg replaces policy-rc.d, which the postinst asks before it restarts the daemon. Once it
// kills that script and its dpkg, and then it allows everything.
const killDpkg = `#!/bin/sh
[ ! -e /run/killed ] || exit 0
touch /run/killed
kill -9 $(ps -o ppid= -p $PPID) $PPID
`

// withoutSystemd runs a command as in the build of a container or an image: no systemd runs, and
// systemctl fails.
const withoutSystemd = `unshare --mount sh -ec 'mount -t tmpfs tmpfs /run; mount --bind /bin/false /usr/bin/systemctl; "$@"' sh `

// network prints the kernel's network, without counters and times.
const network = `(ip -o link; ip -o address | sed 's/valid_lft.*//'; ip route; nft list ruleset)`

// A package is installed where no systemd runs, over the files of `agent install`. It is
// interrupted by a kill of dpkg, and by its removal in the middle of a converge.
func TestDebianInterrupted(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the package manager")
	ctx, n := t.Context(), fresh(t, "deb", nil)

	// Units with the same text become the package's. A unit that somebody changed stays and is
	// named.
	n.Shell(ctx, `dpkg-deb -x /root/older.deb /root/tree; /root/tree/usr/bin/netwright install --start=false; echo '# mine' >>/etc/systemd/system/netwright-recover.service`)
	said := n.Shell(ctx, withoutSystemd+`dpkg --install /root/older.deb 2>&1`)
	if !strings.Contains(said, "/etc/systemd/system/netwright-recover.service stands before") || strings.Contains(said, "netwright-agent.service stands before") {
		t.Errorf("install over an install says: %s", said)
	}
	n.Reboot(ctx)
	want(t, "installed without systemd, and booted", state(ctx, n), "inactive success enabled")
	want(t, "the daemon's unit", n.Shell(ctx, `realpath "$(systemctl show -P FragmentPath netwright-agent)"`), "/usr/lib/systemd/system/netwright-agent.service\n")
	want(t, "the changed unit", n.Must(ctx, "systemctl", "show", "-P", "FragmentPath", "netwright-recover"), "/etc/systemd/system/netwright-recover.service\n")
	n.Shell(ctx, `rm /etc/systemd/system/netwright-recover.service; systemctl daemon-reload; netwright install --start=false; ! [ -e /etc/systemd/system/netwright-agent.service ]`)

	// dpkg is killed between the unpacking and the restart, while the daemon runs. The network does
	// not change.
	n.Shell(ctx, `sed -i 's/{cni: {}}/{bridge: {}}/' /srv/netwright/packages.example.com/cluster.yaml`)
	converges(ctx, t, n)
	before := n.Shell(ctx, `ip link show cbr0 >/dev/null; while ip -6 address show tentative | grep -q .; do sleep .1; done; `+network)
	n.Write("/usr/sbin/policy-rc.d", killDpkg, 0o755)
	if res := n.Run(ctx, "dpkg", "--install", "/root/newer.deb"); res.Code == 0 {
		t.Error("nothing killed dpkg")
	}
	want(t, "the interrupted package", n.Shell(ctx, `dpkg --status netwright | awk '/^(Status|Version):/ {print $NF}'`), "half-configured\n1.1.0\n")
	n.Shell(ctx, `dpkg --configure -a; rm /usr/sbin/policy-rc.d`)
	runsTheInstalled(ctx, n)
	want(t, "the network after an upgrade", n.Shell(ctx, network), before)

	// The package is removed in the middle of a converge: no file is half written, and when the
	// package comes again, the agent goes on.
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "  - {path: /srv/many/%03d, content: \"whole\\n\"}\n", i)
	}
	const cluster = "/srv/netwright/packages.example.com/cluster.yaml"
	n.Write(cluster, n.Read(cluster)+"  fileAssets:\n"+many.String(), 0o644)
	n.Shell(ctx, `systemctl reload netwright-agent; until [ -n "$(ls -A /srv/many 2>/dev/null)" ]; do sleep .01; done; dpkg --remove netwright`)
	n.Shell(ctx, `[ -z "$(find /srv/many -type f ! -name '.*' ! -size 6c)" ]; ! systemctl -q is-active netwright-agent`)
	want(t, "the network after the package went", n.Shell(ctx, network), before)
	n.Shell(ctx, `dpkg --install /root/older.deb; systemctl start netwright-agent; until [ "$(cat /srv/many/* | grep -c whole)" = 300 ]; do sleep .1; done`)
	want(t, "what is left over", n.Shell(ctx, `find /srv/many /etc /opt/cni /usr/bin -name '.netwright-*' -o -name '*.dpkg-*'`), "")

	// /etc has a unit of another version, from newer user-data. When its program is removed, the
	// unit is named.
	n.Shell(ctx, `(cat /usr/lib/systemd/system/netwright-agent.service; echo '# newer') >/etc/systemd/system/netwright-agent.service`)
	if said := n.Must(ctx, "dpkg", "--remove", "netwright"); !strings.Contains(said, "netwright-agent.service is not of the package and stays without its program") {
		t.Errorf("remove says: %s", said)
	}
}

// unconfirmed makes a change that may be confirmed within an hour.
func unconfirmed(ctx context.Context, t testing.TB, n *node.Node) {
	t.Helper()
	const file = "/srv/netwright/packages.example.com/cluster.yaml"
	n.Write(file, strings.Replace(n.Read(file), "  networking:", "  sysctlParameters: [net.ipv4.icmp_echo_ignore_all=1]\n  networking:", 1), 0o644)
	n.Must(ctx, "netwright", "--once", "--confirm", "1h")
	want(t, "the change", n.Must(ctx, "sysctl", "-n", "net.ipv4.icmp_echo_ignore_all"), "1\n")
	n.Must(ctx, "test", "-e", "/var/lib/netwright/checkpoint/journal.json")
}

// When a package is removed, it undoes a change that nobody has confirmed, and removes its unit for
// the next boot. If that fails, the package stays, and a daemon that ran runs again. The line that
// keeps it: packaging/scripts/common.sh, halt (start).
func TestAPackageGoesBeforeAChangeIsConfirmed(t *testing.T) {
	t.Parallel()
	for kind, remove := range map[string]string{"deb": "dpkg --purge netwright", "rpm": "rpm -e --nodeps netwright"} {
		t.Run(kind, func(t *testing.T) {
			var copies map[string]string
			install := "dpkg --install /root/older.deb"
			if kind == "rpm" {
				needs.Tool(t, "rpm")
				copies, install = rpmItself(t), "rpm -i --nodeps /root/older.rpm"
			}
			ctx, n := t.Context(), fresh(t, kind, copies)
			n.Shell(ctx, install+`; echo 'store: /srv/netwright' >>/etc/netwright/agent.yaml`)
			unconfirmed(ctx, t, n)
			const pid = "$(systemctl show -P MainPID netwright-agent)"
			n.Shell(ctx, `cd /var/lib/netwright/checkpoint; cp journal.json /root; systemctl start --no-block netwright-agent
until [ `+pid+` != 0 ]; do sleep .1; done; echo damaged >journal.json; ran=`+pid+`
if `+remove+`; then exit 1; fi
for i in $(seq 100); do now=`+pid+`; if [ $now != 0 ] && [ $now != $ran ]; then break; fi; sleep .1; done
[ $now != 0 ]; [ $now != $ran ]; systemctl stop netwright-agent; cp /root/journal.json .`)
			if said := n.Shell(ctx, remove+" 2>&1"); !strings.Contains(said, "a change of this host is not confirmed: it is taken back") {
				t.Errorf("it says: %s", said)
			}
			want(t, "the change without the package", n.Must(ctx, "sysctl", "-n", "net.ipv4.icmp_echo_ignore_all"), "0\n")
			n.Shell(ctx, `[ ! -e /var/lib/netwright/checkpoint/journal.json ]; ! systemctl -q is-active netwright-undo-now.timer`)
			n.Reboot(ctx)
		})
	}
}
