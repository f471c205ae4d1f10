package cleanup

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// onlyWith finds in a network's script what needs a module: see only in prelude.sh.
var onlyWith = regexp.MustCompile(`\bonly ([a-z0-9_]+)`)

// forEachModule picks networks that together use each module that any network uses. They stand for
// the others in a short run.
func forEachModule(t *testing.T, networks []string) []string {
	t.Helper()
	uses := map[string][]string{}
	for _, name := range networks {
		script, err := os.ReadFile("testdata/modules/" + name + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range onlyWith.FindAllStringSubmatch(string(script), -1) {
			if !slices.Contains(uses[name], found[1]) {
				uses[name] = append(uses[name], found[1])
			}
		}
	}
	return cover(uses)
}

// cover picks names that together have all that any name has. It begins with the name that has
// most.
func cover(has map[string][]string) (picked []string) {
	left := map[string]bool{}
	for _, things := range has {
		for _, thing := range things {
			left[thing] = true
		}
	}
	for len(left) > 0 {
		best, most := "", 0
		for _, name := range slices.Sorted(maps.Keys(has)) {
			n := 0
			for _, thing := range has[name] {
				if left[thing] {
					n++
				}
			}
			if n > most {
				best, most = name, n
			}
		}
		picked = append(picked, best)
		for _, thing := range has[best] {
			delete(left, thing)
		}
	}
	return picked
}

// A node shares this machine's kernel, which may lack ipip, wireguard, IPVS or Open vSwitch. A
// virtual machine has a kernel with these modules. Its processor is emulated and slow, so the test
// there has only the networks that need it.
func TestNetworksLeaveNothingInAMachine(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	dir, names := t.TempDir(), networks(t, "modules")
	if os.Getenv("NETWRIGHT_MODULES") != "full" {
		names = forEachModule(t, names)
	}
	payload := map[string]string{"clean": clean(t), "pin": pin(t), "layer.tar": archive(t, dir, node.Layer(t, "openvswitch-switch", "ipvsadm")),
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

// archive packs a directory, and keeps its links as links.
func archive(t *testing.T, dir, of string) string {
	t.Helper()
	path := filepath.Join(dir, "layer.tar")
	if out, err := exec.Command("tar", "-C", of, "-cf", path, "--exclude=./etc/machine-id", "--exclude=./etc/hosts", "--exclude=./var/cache", "--exclude=./var/lib/apt", "--exclude=./var/lib/dpkg", "--exclude=./usr/lib/python3*", "--exclude=./usr/bin/python3*", ".").CombinedOutput(); err != nil {
		t.Fatalf("pack %s: %v\n%s", of, err, out)
	}
	return path
}
