package vm_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// This tests the machine itself. Each test with a machine checks of it what that test needs, so
// this test runs where all tests run. One machine serves all cases, since each boot takes ten
// seconds.
func TestModulesAndPowerCut(t *testing.T) {
	if os.Getenv("NETWRIGHT_VM") == "" {
		t.Skip("runs with NETWRIGHT_VM=1, as in make test-all")
	}
	fabric := node.NewFabric(t)
	n := fabric.Node(t, node.Options{Name: "n", Address: "10.77.0.11"})
	boots := vm.Run(t, vm.Options{
		Fabric: fabric, Address: "10.77.0.20",
		Payload: map[string]string{"dir": "."},
		Boots: []string{`
			test ! -e /proc/sys/net/bridge
			modprobe br_netfilter
			echo "bridge-nf is $(cat /proc/sys/net/bridge/bridge-nf-call-iptables)"
			modprobe -a ipip wireguard ipvlan vxlan overlay
			sysctl kernel.panic=7
			echo "cgroup is $(stat -fc %T /sys/fs/cgroup) with $(cat /sys/fs/cgroup/cgroup.controllers)"
			sha256sum dir/vm_test.go
			for to in ` + strings.Join([]string{node.Gateway4, node.Gateway6, n.Address(), n.Address6()}, " ") + `; do ping -qc1 -w20 $to; done
			echo 1 >/etc/synced; sync; echo 1 >/etc/lost
			echo b >/proc/sysrq-trigger; sleep 60`,
			`test -s /etc/synced
			test ! -s /etc/lost
			test ! -e /proc/sys/net/bridge
			systemd-analyze
			systemd-analyze blame | head -15`,
		},
	})
	for i, boot := range boots {
		if boot.State != "running" {
			t.Errorf("boot %d: systemd is %s, want running", i+1, boot.State)
		}
	}
	if boots[0].Code != -1 {
		t.Errorf("status %d, want a power cut", boots[0].Code)
	}
	me, err := os.ReadFile("vm_test.go")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(me)
	for _, want := range []string{"bridge-nf is 1\n", "kernel.panic = 7\n", "cgroup is cgroup2fs with cpuset cpu io memory", hex.EncodeToString(sum[:])} {
		if !strings.Contains(boots[0].Output, want) {
			t.Errorf("the first boot does not say %q:\n%s", want, boots[0].Output)
		}
	}
	t.Log(boots[1].Output)
}
