package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// systemd accepts no unit file for a file system that it mounts itself. When it refuses ours, the
// agent restores the unit file that another program had there.
//
// The line that keeps it: pkg/tasks/mount.go, takeBack.
func TestAUnitFileOfOthersComesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, strings.Replace(bridgeSpec, "bridge: {}", "cilium: {}", 1), nil)
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	const unit, theirs = "/etc/systemd/system/sys-fs-bpf.mount", "[Mount]\nWhat=bpffs\nWhere=/sys/fs/bpf\nType=bpf\nOptions=mode=0700\n[Install]\nWantedBy=multi-user.target\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{unit: theirs}}))
	n.Must(ctx, "chmod", "0640", unit)
	n.Shell(ctx, "d=$(findmnt -no TARGET -T /sys/fs); mount -o remount,bind,rw $d; mkdir -p /sys/fs/bpf") // as on a machine
	looks := func() string { return n.Shell(ctx, "stat -c '%a %U' "+unit+"; cat "+unit) }
	before := looks()
	for range 2 {
		res := n.Run(ctx, "netwright", "--once")
		if res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "systemd accepts no unit for it") {
			t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		if now := looks(); now != before {
			t.Errorf("the unit file is\n%swas\n%s", now, before)
		}
	}
}

// The agent writes a file onto the file system that systemd is about to mount, and not below it.
// Until then the task waits, and names the mount. A mount that failed, or that is not made at boot,
// keeps no file back. This holds whichever unit wants the mount, and if a link leads there. The
// line that keeps it: pkg/reconcile/changes/check_paths.go, pendingMount.
func TestAMountThatIsToComeIsAwaited(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, bridgeSpec+"  followLinks: [/srv/link]\n  fileAssets:\n"+assetFile("/srv/late/deep/motd", "late\n")+
		assetFile("/srv/unit/motd", "late\n")+assetFile("/srv/wanted/motd", "late\n")+assetFile("/srv/link/linked", "late\n")+
		assetFile("/srv/broken/motd", "there\n")+assetFile("/srv/by-hand/motd", "there\n"), nil)
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	unit := func(script string) string {
		return "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '" + script + "'\n"
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Degraded: true, Files: map[string]string{
		"/etc/systemd/system/late.service":   unit("while test -e /run/late; do sleep 0.1; done"),
		"/etc/systemd/system/broken.service": unit("exit 1"),
		"/etc/systemd/system/srv-unit.mount": "[Unit]\nRequires=late.service\nAfter=late.service\n[Mount]\nWhat=tmpfs\nWhere=/srv/unit\nType=tmpfs\n[Install]\nWantedBy=multi-user.target\n",
		"/etc/fstab": "tmpfs /srv/late tmpfs nofail,x-systemd.requires=late.service 0 0\n" +
			"tmpfs /srv/wanted tmpfs nofail,x-systemd.requires=late.service,x-systemd.wanted-by=multi-user.target 0 0\n" +
			"tmpfs /srv/broken tmpfs nofail,x-systemd.requires=broken.service 0 0\ntmpfs /srv/by-hand tmpfs noauto 0 0\n"}}))
	const late = "srv-late.mount srv-unit.mount srv-wanted.mount"
	n.Shell(ctx, "touch /run/late; systemctl stop late "+late+"; systemctl start --no-block "+late+"; ln -s late /srv/link")
	once := func() string { return n.Run(ctx, "netwright", "--once").Stdout } // there are no plugins to fetch
	said := once()
	for _, mount := range []string{"/srv/late", "/srv/unit", "/srv/wanted"} {
		if !strings.Contains(said, "waiting for "+mount+" to be mounted") {
			t.Errorf("of %s it says nothing:\n%s", mount, said)
		}
	}
	n.Shell(ctx, "! ls /srv/late/* /srv/unit/* /srv/wanted/* 2>/dev/null && cat /srv/broken/motd /srv/by-hand/motd && rm /run/late")
	if !n.Await(ctx, "mountpoint -q /srv/late && mountpoint -q /srv/unit && mountpoint -q /srv/wanted") {
		t.Fatal(n.Shell(ctx, "systemctl status "+late+" || true"))
	}
	if said := once(); strings.Contains(said, "to be mounted") {
		t.Errorf("once it is mounted it says\n%s", said)
	}
	n.Shell(ctx, "cat /srv/late/deep/motd /srv/late/linked /srv/unit/motd /srv/wanted/motd; umount /srv/late /srv/unit /srv/wanted; ! ls /srv/late/* /srv/unit/* /srv/wanted/* 2>/dev/null")
}

// The daemon has its own copy of the host's mounts, which does not get the flags that a person sets
// later. It says all the same that no plugin can be started, and writes nothing to a mount that is
// read-only. When the flags go, all is right again. The lines that keep it:
// pkg/host/watch/mounts.go, set; pkg/host/hostfs/host_mounts.go, have.
func TestTheDaemonSeesFlagsOfMounts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, good := goodStore(t)
	const motd, document = "/srv/kept/motd", "/srv/netwright/" + cluster + "/cluster.yaml"
	s.write(t, "cluster.yaml", bootFile(good, "", motd, "first\n"))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Enable: []string{"netwright-agent.service"}}))
	until(t, n, "the node is right", "netwright status && test -e "+motd)
	for _, dir := range []string{"/srv/kept", "/opt/cni/bin"} {
		n.Must(ctx, "mount", "--bind", dir, dir)
	}
	n.Must(ctx, "mount", "-o", "remount,bind,noexec", "/opt/cni/bin")
	until(t, n, "no plugin can be started", "netwright status | grep -q 'its file system is mounted noexec'")
	n.Must(ctx, "mount", "-o", "remount,bind,exec", "/opt/cni/bin")
	until(t, n, "plugins can be started again", "netwright status")

	n.Must(ctx, "mount", "-o", "remount,bind,ro", "/srv/kept")
	n.Write(document, bootFile(good, "", motd, "second\n"), 0o644)
	out := n.Run(ctx, "netwright", "--once")
	if said := out.Stdout + out.Stderr; out.Code != 1 || !strings.Contains(said, "mount it writable") || n.Read(motd) != "first\n" {
		t.Errorf("exit %d, the file has %q\n%s", out.Code, n.Read(motd), said)
	}
	n.Must(ctx, "mount", "-o", "remount,bind,rw", "/srv/kept")
	until(t, n, "the file is written", "grep -q second "+motd)
}
