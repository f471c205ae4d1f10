package cleanup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// withEachModule are networks that have, between them, each kind of link and policy that takes a module: they stand for the rest where not all run.
var withEachModule = []string{"antrea", "cilium", "kindnet", "kubeRouter", "ovnKubernetes"}

// A node shares this machine's kernel, which may have no ipip, wireguard, IPVS or Open vSwitch: a virtual machine has a kernel with modules. It is
// emulated and slow, so that it proves only what needs one.
func TestNetworksLeaveNothingInAMachine(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	dir, names := t.TempDir(), networks(t, "modules")
	if os.Getenv("NETWRIGHT_MODULES") != "full" {
		names = withEachModule
	}
	payload := map[string]string{"clean": build(t, dir, "./clean"), "pin": build(t, dir, "./pin"), "layer.tar": archive(t, dir, node.Layer(t, "openvswitch-switch", "ipvsadm")),
		"moved.sh": "testdata/moved.sh"}
	for _, name := range scripts {
		payload[name] = "testdata/" + name
	}
	boots := vm.Run(t, vm.Options{Payload: payload, Boots: []string{`
systemctl -q stop systemd-networkd.socket systemd-networkd.service # it would take each link that is made for its own
tar -C / -xf layer.tar
ldconfig
systemctl daemon-reload
systemctl -q mask openvswitch-switch.service ovs-vswitchd.service ovsdb-server.service ipvsadm.service
cp -a clean pin moved.sh ` + strings.Join(scripts, " ") + ` /root/
cd /root
export MODULES=yes; sh ./prove.sh ` + strings.Join(names, " ") + ` 2>&1
sh ./moved.sh 2>&1 || echo FAIL moved
`}})
	for _, n := range []string{"azure", "ovnKubernetes"} {
		if !strings.Contains(boots[0].Output, "MOVED "+n) {
			t.Errorf("%s: addresses not moved back", n)
		}
	}
	proved(t, boots[0].Output, names)
}

// archive packs a directory with its links as they are.
func archive(t *testing.T, dir, of string) string {
	t.Helper()
	path := filepath.Join(dir, "layer.tar")
	if out, err := exec.Command("tar", "-C", of, "-cf", path, "--exclude=./etc/machine-id", "--exclude=./var/cache", "--exclude=./var/lib/apt", "--exclude=./var/lib/dpkg", "--exclude=./usr/lib/python3*", "--exclude=./usr/bin/python3*", ".").CombinedOutput(); err != nil {
		t.Fatalf("pack %s: %v\n%s", of, err, out)
	}
	return path
}
