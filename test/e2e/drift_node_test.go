package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

// driftCase is a change that somebody makes, and a check that it is undone.
type driftCase struct {
	kind  string
	shell string // changes it
	right func() bool
}

const (
	conflistPath = "/etc/cni/net.d/05-netwright-bridge.conflist"
	pluginPath   = "/opt/cni/bin/bridge"

	containerdConf = "/etc/containerd/config.toml"
	mountedPath    = "/srv/pins"
)

func driftCases(t *testing.T) []driftCase {
	same := func(path string) func() bool {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return func() bool {
			now, err := os.Stat(path)
			if err != nil || now.Mode() != info.Mode() || now.Size() != info.Size() {
				return false
			}
			have, err := os.ReadFile(path)
			return err == nil && string(have) == string(want)
		}
	}
	sysctl := func(key string) func() bool {
		path := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return func() bool { have, err := os.ReadFile(path); return err == nil && string(have) == string(want) }
	}
	said := func(want string, name string, args ...string) func() bool {
		return func() bool {
			out, _ := exec.Command(name, args...).Output()
			return strings.Contains(string(out), want)
		}
	}
	up := func() bool {
		l, err := netlink.LinkByName("cbr0")
		return err == nil && l.Attrs().MTU == 1500 && l.Attrs().Flags&net.FlagUp != 0
	}
	addressed := func() bool {
		l, err := netlink.LinkByName("cbr0")
		if err != nil {
			return false
		}
		list, err := netlink.AddrList(l, netlink.FAMILY_V4)
		return err == nil && len(list) == 1 && list[0].IPNet.String() == "10.244.1.1/24"
	}
	routed := func() bool {
		_, dst, _ := net.ParseCIDR("10.244.2.0/24")
		list, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: dst}, netlink.RT_FILTER_DST)
		return err == nil && len(list) == 1 && list[0].Gw.String() == "10.77.0.12"
	}
	linked := func(path string) func() bool {
		return func() bool { info, err := os.Lstat(path); return err == nil && info.Mode()&os.ModeSymlink != 0 }
	}
	if os.Getenv(inOtherNode) != "" {
		return []driftCase{
			{"key of containerd", "sed -i s,/etc/cni/lab.d,/etc/cni/other.d, " + containerdConf, same(containerdConf)},
			{"mount", "umount " + mountedPath, said("tmpfs\n", "findmnt", "-no", "FSTYPE", mountedPath)},
			{"unit of a mount", "echo >>/etc/systemd/system/srv-pins.mount", same("/etc/systemd/system/srv-pins.mount")},
		}
	}
	return []driftCase{
		{"file content", "echo theirs >" + conflistPath, same(conflistPath)},
		{"file mode", "chmod 0600 " + conflistPath, same(conflistPath)},
		{"file removed", "rm /srv/deep/down/mine", same("/srv/deep/down/mine")},
		// mv copies files of the image. A file that the agent restores meanwhile keeps the
		// directory.
		{"directory removed", "mv /srv/deep /root/deep 2>/dev/null || true; rm -r /root/deep", same("/srv/deep/down/mine")},
		{"directory replaced", "mv /etc/cni /etc/old 2>/dev/null || true; mkdir -p /etc/cni/net.d; rm -r /etc/old", same(conflistPath)},
		{"plugin overwritten", "cp /bin/true " + pluginPath, same(pluginPath)},
		{"plugin removed", "rm " + pluginPath, same(pluginPath)},
		{"sysctl ip_forward", "echo 0 >/proc/sys/net/ipv4/ip_forward", sysctl("net.ipv4.ip_forward")},
		{"sysctl rp_filter", "echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter", sysctl("net.ipv4.conf.all.rp_filter")},
		{"sysctl polled", "echo 0 >/proc/sys/net/ipv4/conf/all/arp_ignore", sysctl("net.ipv4.conf.all.arp_ignore")},
		{"sysctl bridge-nf", "echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables", sysctl("net.bridge.bridge-nf-call-iptables")},
		{"link down", "ip link set cbr0 down", up},
		{"link mtu", "ip link set cbr0 mtu 1400", up},
		{"link removed", "ip link del cbr0", addressed},
		{"address", "ip addr flush dev cbr0", addressed},
		{"route", "ip route del 10.244.2.0/24", routed},
		{"rules of ip_tables", "iptables -F FORWARD", said("cbr0", "iptables", "-S", "FORWARD")},
		{"nft table", "nft flush ruleset", said("masquerade", "nft", "list", "table", "ip", "netwright")},
		{"unit stopped", "systemctl stop sleeper.service", said("active\n", "systemctl", "show", "--value", "-p", "ActiveState", "sleeper.service")},
		{"unit killed", "systemctl kill -s KILL sleeper.service", said("active\n", "systemctl", "show", "--value", "-p", "ActiveState", "sleeper.service")},
		{"unit disabled", "systemctl disable -q sleeper.service", said("enabled", "systemctl", "is-enabled", "sleeper.service")},
		{"unit's symlink", "rm /etc/systemd/system/multi-user.target.wants/sleeper.service", linked("/etc/systemd/system/multi-user.target.wants/sleeper.service")},
		{"unit file", "echo >>/etc/systemd/system/sleeper.service", same("/etc/systemd/system/sleeper.service")},
	}
}

// hands has the ways in which changes are made. The container has its own namespaces, except the
// network's. It sees the host's files and systemd as a privileged DaemonSet with these mounts does.
var hands = map[string][]string{
	"host":      {"/bin/sh", "-euc"},
	"container": {"unshare", "--pid", "--fork", "--mount", "--mount-proc", "/bin/sh", "-euc"},
}

// driftInNode makes each change several times, at random moments, and prints the time until the
// agent had repaired it.
func driftInNode(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv(inDriftNode))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range driftCases(t) {
		for by, command := range hands {
			if by == "container" && strings.HasPrefix(c.shell, "systemctl") {
				continue // there process 1 is another process
			}
			if by == "container" && strings.HasPrefix(c.shell, "umount") {
				continue // its mounts are its own
			}
			k := took{Kind: c.kind, By: by}
			for range rounds {
				time.Sleep(rand.N(700 * time.Millisecond))
				// The command prints when the change began, without the start of the shell.
				out, err := exec.Command(command[0], append(command[1:], "date +%s%N; "+c.shell)...).CombinedOutput()
				if err != nil {
					t.Errorf("%s by %s: %v: %s", c.kind, by, err, out)
					break
				}
				began, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if !awaitRight(c.right) {
					t.Errorf("%s, changed by %s, was not made right", c.kind, by)
					break
				}
				k.Took = append(k.Took, time.Since(time.Unix(0, began)))
			}
			if line, err := json.Marshal(k); err == nil && len(k.Took) > 0 {
				fmt.Printf("took %s\n", line)
			}
		}
	}
}

// awaitRight waits until something is right. It returns false after 40 seconds.
func awaitRight(right func() bool) bool {
	for range 40_000 {
		if right() {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
