package node_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

func TestTwoNodesTalkAndReboot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric := node.NewFabric(t)
	one := fabric.Node(t, node.Options{Name: "one", Address: "10.77.0.11"})
	two := fabric.Node(t, node.Options{Name: "two", Address: "10.77.0.12", Networkd: true})

	for _, n := range []*node.Node{one, two} {
		for _, to := range []string{one.Address(), one.Address6(), two.Address(), two.Address6(), node.Gateway4, node.Outside4, node.Outside6} {
			n.Must(ctx, "ping", "-c1", "-w20", to)
		}
		if got := strings.TrimSpace(n.Must(ctx, "hostname")); got != n.Name() {
			t.Errorf("the node calls itself %q, want %q", got, n.Name())
		}
	}

	one.Must(ctx, "touch", "/etc/kept", "/run/lost")
	boot := one.Read("/proc/sys/kernel/random/boot_id")
	one.Reboot(ctx)
	one.Must(ctx, "test", "-e", "/etc/kept")
	one.Must(ctx, "test", "!", "-e", "/run/lost")
	one.Must(ctx, "ping", "-c1", "-w20", two.Address())
	if one.Read("/proc/sys/kernel/random/boot_id") == boot {
		t.Error("the node did not reboot")
	}
	one.Kill()
	one.Boot(ctx)
	one.Must(ctx, "test", "-e", "/etc/kept")
}

func TestCommands(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, node.Options{
		Name: "n", Address: "10.77.0.11",
		Files: map[string]string{
			"/etc/systemd/system/hello.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/local/bin/hello\n",
			"/usr/local/bin/hello":              "#!/bin/sh\necho hello >/run/hello\n",

			// late starts after systemd has read its units again.
			"/etc/systemd/system/late.service.d/after.conf": "[Unit]\nAfter=reload.service\n[Service]\nType=oneshot\n",
			"/etc/systemd/system/reload.service":            "[Service]\nType=oneshot\nExecStart=/usr/local/bin/reload\n",
			"/usr/local/bin/reload": "#!/bin/sh\nuntil systemctl list-jobs | grep -q late.service; do sleep 0.1; done\n" +
				"systemctl daemon-reload\n",
		},
		Enable: []string{"hello.service"},
	})
	if got := n.Read("/run/hello"); got != "hello\n" {
		t.Errorf("the unit enabled before the first boot wrote %q", got)
	}
	result := n.Run(ctx, "sh", "-c", "echo out; echo err >&2; exit 7")
	if result != (node.Result{Stdout: "out\n", Stderr: "err\n", Code: 7}) {
		t.Errorf("result is %+v", result)
	}
	n.Start(ctx, "sleeper", "sleep", "1000")
	if got := n.Must(ctx, "systemctl", "is-active", "sleeper"); got != "active\n" {
		t.Errorf("the started service is %q", got)
	}
	n.Must(ctx, "systemctl", "start", "--no-block", "reload")
	n.Start(ctx, "late", "sh", "-c", `cd /run; echo "$0's %h \t" >late`, "it")
	if got := n.Read("/run/late"); got != "it's %h \t\n" {
		t.Errorf("a command that started after systemd had read its units anew wrote %q", got)
	}
	if group := n.Must(ctx, "/bin/cat", "/proc/self/cgroup"); strings.Contains(group, "nwt-") || !strings.Contains(group, "/system.slice/run-") {
		t.Errorf("a command runs outside of its node's services:\n%s", group)
	}
}

// A node cannot write what belongs to this machine.
func TestMachineIsOutOfReach(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11"})
	for _, key := range []string{"kernel/panic", "vm/overcommit_memory", "fs/file-max"} {
		if n.Run(ctx, "test", "-w", "/proc/sys/"+key).Code == 0 {
			t.Errorf("%s can be written", key)
		}
	}
	n.Must(ctx, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward && echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables")
	n.Must(ctx, "modprobe", "br_netfilter")
	n.Must(ctx, "modprobe", "overlay")
	if n.Run(ctx, "modprobe", "wireguard").Code == 0 {
		t.Error("a node loaded a module")
	}
}

func TestContainerd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11"})
	n.Must(ctx, "systemctl", "is-active", "containerd")
	n.Shell(ctx, "mkdir -p /srv/root/bin && cp /bin/busybox /srv/root/bin/")
	out := n.Must(ctx, "ctr", "run", "--rm", "--rootfs", "--memory-limit=67108864", "/srv/root", "lab", "/bin/busybox", "cat", "/proc/self/cgroup")
	if !strings.Contains(out, "memory:/") || strings.Contains(out, "containerd.service") {
		t.Errorf("the container has no cgroup of its own:\n%s", out)
	}
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	var fabric *node.Fabric
	var n *node.Node
	t.Run("a test", func(t *testing.T) {
		fabric = node.NewFabric(t)
		n = fabric.Node(t, node.Options{Name: "n", Address: "10.77.0.11"})
	})
	if fabric == nil {
		t.Skip("nodes cannot be booted here")
	}
	if _, err := os.Stat(fabric.Netns()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the fabric's namespace: %v, want it gone", err)
	}
	lab := filepath.Dir(filepath.Dir(n.Root()))
	if _, err := os.Stat(lab); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v, want it gone", err)
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); strings.Contains(string(mounts), lab) {
		t.Error("a mount is left")
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/nwt-" + filepath.Base(lab)); len(groups) != 0 {
		t.Errorf("cgroups are left: %v", groups)
	}
}
