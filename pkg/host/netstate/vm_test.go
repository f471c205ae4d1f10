package netstate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/vm"
)

// inVM is set for this test program when it runs inside of a virtual machine.
const inVM = "NETWRIGHT_TEST_IN_VM"

// TestKernelInAVM boots a machine whose kernel has all kinds of links, and runs itself there.
func TestKernelInAVM(t *testing.T) {
	if os.Getenv(inVM) == "" {
		self, err := os.Executable()
		ok(t, err)
		boots := vm.Run(t, vm.Options{
			Payload: map[string]string{"netstate.test": self},
			Boots:   []string{inVM + "=1 ./netstate.test -test.run='^TestKernelInAVM$' -test.v -test.timeout=10m"},
		})
		t.Log(boots[0].Output)
		return
	}
	if out, err := exec.Command("modprobe", "-a", "bridge", "veth", "8021q", "ip_gre", "vxlan", "macvlan",
		"ipvlan", "geneve", "bonding", "vrf", "macsec", "mpls_router", "wireguard").CombinedOutput(); err != nil {
		t.Fatalf("modprobe: %v\n%s", err, out)
	}
	t.Run("ports of bonds and teams", testPortsComeBack)
	t.Run("VLANs of a bridge", testVLANsComeBack)
	t.Run("a random network", func(t *testing.T) { testNetworkOfChance(t, 3) })
	t.Run("settings that are taken in another form than listed", testSettingsOfKindsComeBack)
	t.Run("routes of MPLS", testMPLSComesBack)
	t.Run("peers of WireGuard", testWireGuardIsTold)
}

// An undo makes an uplink a port of its former bond or team again. These accept only a link that is
// down. The line that keeps it: links.go, restoreMaster.
func testPortsComeBack(t *testing.T) {
	for kind, module := range map[string]string{"bond": "bonding", "team": "team"} {
		if out, err := exec.Command("modprobe", module).CombinedOutput(); err != nil {
			t.Fatalf("modprobe %s: %v\n%s", module, err, out)
		}
		ns := netns.New(t)
		ns.Run("sh", "-ec", `ip link add port0 type veth peer name port1; ip link set port1 up; ip link add master0 type `+kind+`
ip link set port0 master master0; ip link set master0 up; ip link set port0 up
ip addr add 10.9.0.2/24 dev master0; ip route add default via 10.9.0.1`)
		route := ns.Run("ip", "route", "show", "default")
		ns.Do(func() {
			h, ctx := openNet(t), t.Context()
			was, err := Read(ctx, h.net)
			ok(t, err)
			ns.Run("sh", "-ec", `ip link set port0 nomaster; ip link set port0 up; ip addr del 10.9.0.2/24 dev master0; ip addr add 10.9.0.2/24 dev port0`)
			for range 2 {
				if err := h.Restore(ctx, was, Made{}); err != nil {
					t.Errorf("%s: Restore returns %v", kind, err)
				}
				l, err := h.net.Link(ctx, "port0")
				ok(t, err)
				if now := ns.Run("ip", "route", "show", "default"); l.Master != "master0" || !l.Up ||
					strings.Fields(now)[4] != strings.Fields(route)[4] {
					t.Errorf("%s: the port has the master %q, up: %t; %s", kind, l.Master, l.Up, now)
				}
			}
		})
	}
}

// An undo restores the VLANs of bridges and ports, also of the bridge itself, and of a port that
// lost them with its bridge. If a port of Kubernetes was made again, its VLANs stay. The lines that
// keep it: vlans.go, listVLANs, restoreVLANs and restoreVLANsOf.
func testVLANsComeBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add br0 type bridge vlan_filtering 1 vlan_default_pvid 7 vlan_protocol 802.1ad
for l in a b c cali; do ip link add ${l}0 type veth peer name ${l}1; ip link set ${l}0 master br0; done
bridge vlan add vid 10 dev a0 pvid untagged; bridge vlan add vid 20-29 dev a0; bridge vlan add vid 30 dev a0 untagged; bridge vlan del vid 7 dev b0; bridge vlan add vid 40 dev br0 self; bridge vlan add vid 2-1000 dev c0
bridge fdb add 02:00:00:00:00:01 dev a0 master static vlan 20`)
	look := func() string {
		return ns.Run("sh", "-ec", "bridge -compressvlans vlan | grep -v cali; bridge fdb show | { grep static || true; }; ip -d -o link show br0 | tr ' ' '\n' | grep -A1 ^vlan_")
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		if data, err := json.Marshal(was); err != nil || len(data) > 20000 {
			t.Errorf("a journal has %d bytes, %v", len(data), err)
		}
		for _, change := range []string{
			"ip link set a0 nomaster; ip link set c0 nomaster", "ip link add br9 type bridge; ip link set a0 master br9; ip link set b0 nomaster", "bridge vlan del vid 1-4094 dev a0",
			"bridge vlan add vid 50-60 dev b0; bridge vlan add vid 25 dev a0 pvid; bridge vlan add vid 30 dev a0", "bridge vlan del vid 40 dev br0 self; bridge vlan add vid 41 dev br0 self pvid",
			"ip link set br0 type bridge vlan_default_pvid 8 vlan_filtering 0 vlan_protocol 802.1Q", "ip link set a0 nomaster; ip link del cali0; ip link add cali0 type veth peer name cali1; ip link set cali0 master br0",
		} {
			ns.Run("sh", "-ec", change)
			if look() == before {
				t.Errorf("%s: nothing was changed", change)
			}
			for range 2 {
				ok(t, h.RemoveAdded(ctx, was))
				ok(t, h.Restore(ctx, was, Made{}))
				if diff := cmp.Diff(lines(before), lines(look())); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
				}
			}
		}
	})
}

// An undo restores settings that are listed in another form, that can only be set together, that
// are flags, or whose kind has no list. The lines that keep it: link_settings.go, vlanFlags,
// wholeKinds, infoSettings and taken; links.go, restoreLinks.
func testSettingsOfKindsComeBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip addr add 192.0.2.1/24 dev up0
ip link add ipv9 link up0 type ipvlan mode l3; ip link add vlan0 link up0 type vlan id 7 egress 1:7; ip link add gre9 type gre local 192.0.2.1 remote 192.0.2.2 ttl 77
ip link add sec9 link up1 type macsec encrypt on replay on window 32; ip link add open9 link up1 type macsec port 11`)
	look := func() (out []any) {
		for _, l := range ns.IPJSON("link") {
			if strings.HasSuffix(l["ifname"].(string), "9") || l["ifname"] == "vlan0" {
				out = append(out, l["linkinfo"], l["flags"])
			}
		}
		return out
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.IP("link set vlan0 type vlan reorder_hdr off egress 1:0", "link set gre9 type gre local 192.0.2.1 remote 192.0.2.9 ttl 7", "link set ipv9 type ipvlan mode l2",
			"link set sec9 type macsec encrypt off replay off", "link set open9 type macsec replay on window 64")
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Errorf("not as before (-before +after):\n%s", diff)
			}
		}
	})
}

// An undo restores routes of MPLS, and removes those that a program added. Those of a daemon stay.
// The lines that keep it: mpls.go; unordered_lists.go, its row.
func testMPLSComesBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `for l in a b; do ip link add ${l}0 type veth peer name ${l}1; ip link set ${l}0 up; ip link set ${l}1 up; done
ip addr add 10.0.1.2/24 dev a0; ip addr add 10.0.2.2/24 dev b0; echo 1000 > /proc/sys/net/mpls/platform_labels
ip -M route add 100 via inet 10.0.1.1; ip -M route add 101 as 200/300 via inet 10.0.2.1; ip -M route add 102 dev lo
ip -M route add 103 nexthop as 201 via inet 10.0.1.1 nexthop as 202 via inet 10.0.2.1; ip -M route add 104 ttl-propagate disabled via inet 10.0.1.1`)
	look := func() string { return ns.Run("ip", "-M", "route") }
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		if len(was.Tables["ip -M route"]) != 5 {
			t.Fatalf("routes: %x of\n%s", was.Tables, before)
		}
		for _, change := range []string{
			"for n in 100 101 102 103 104; do ip -M route del $n; done",
			"ip -M route replace 100 via inet 10.0.2.7; ip -M route add 107 dev lo; ip -M route replace 103 via inet 10.0.1.7",
		} {
			_, _ = ns.Try("sh", "-c", change)
			ns.Run("sh", "-ec", "ip -M route add 109 dev lo proto bird")
			for range 2 {
				ok(t, h.RemoveAdded(ctx, was))
				ok(t, h.Restore(ctx, was, Made{}))
				if diff := cmp.Diff(lines(before), lines(look(), "bird")); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
				}
			}
			ns.Run("ip", "-M", "route", "del", "109")
		}
	})
}

// A change of a link's keys and peers, as by wg(8), is reported. What its peers themselves change
// is not. The journal has no key. The lines that keep it: wireguard.go; unordered_lists.go, its
// row.
func testWireGuardIsTold(t *testing.T) {
	ns := netns.New(t)
	ns.IP("link add wg0 type wireguard", "link add wireguard.cali type wireguard")
	number := func(n uint16) []byte { return binary.NativeEndian.AppendUint16(nil, n) }
	key := func(c byte) []byte { return bytes.Repeat([]byte{c}, 32) }
	addressed := func(last byte) []byte { // an address range of a peer
		return sys.NestedAttribute(peerRanges, sys.NestedAttribute(0, sys.NewAttribute(1, number(unix.AF_INET)), sys.NewAttribute(2, []byte{10, 0, 0, last}), sys.NewAttribute(3, []byte{32})))
	}
	endpoint := sys.NewAttribute(4, append(append(number(unix.AF_INET), 0x1f, 0x90, 192, 0, 2, 7), make([]byte, 8)...))
	peer := func(attributes ...[]byte) []byte {
		return sys.NestedAttribute(devicePeers, sys.NestedAttribute(0, slices.Concat(append([][]byte{sys.NewAttribute(peerKey, key(9))}, attributes...)...)))
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		set := func(name string, attributes ...[]byte) {
			t.Helper()
			l, err := h.net.Link(ctx, name)
			ok(t, err)
			family, err := netlink.GenlFamilyGet("wireguard")
			ok(t, err)
			req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
			req.AddData(&nl.Genlmsg{Command: 1, Version: 1}) // WG_CMD_SET_DEVICE
			req.AddRawData(slices.Concat(append([][]byte{sys.NumberAttribute(deviceIndex, uint32(l.Index))}, attributes...)...))
			_, err = req.Execute(unix.NETLINK_GENERIC, 0)
			ok(t, err)
		}
		set("wg0", sys.NewAttribute(3, key(8)), peer(addressed(1)))
		for name, c := range map[string]struct {
			change []byte
			told   bool
		}{
			"a key":                   {sys.NewAttribute(3, key(16)), true},
			"a port":                  {sys.NewAttribute(6, number(51820)), true},
			"a range":                 {peer(addressed(2)), true},
			"a shared key":            {peer(sys.NewAttribute(2, key(5))), true},
			"another peer":            {sys.NestedAttribute(devicePeers, sys.NestedAttribute(0, sys.NewAttribute(peerKey, key(3)))), true},
			"the endpoint":            {peer(endpoint), false},
			"the address that it has": {peer(addressed(1)), false},
			"a peer that is removed":  {peer(sys.NumberAttribute(3, 1)), true}, // WGPEER_F_REMOVE_ME
		} {
			was, err := Read(ctx, h.net)
			ok(t, err)
			if data, err := json.Marshal(was); err != nil || len(was.Tables["wg show"]) != 1 || bytes.Contains(was.Tables["wg show"][0], key(8)[:16]) {
				t.Fatalf("%v, a journal has %s", err, data)
			}
			set("wg0", c.change)
			set("wireguard.cali", sys.NewAttribute(6, number(51821)))
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.Restore(ctx, was, Made{}))
			lost, err := h.Lost(ctx, was)
			if err != nil || slices.Contains(lost, "entries of link wg0 (wg show)") != c.told || len(lost) > 1 {
				t.Errorf("%s: lost %q, %v, told %v", name, lost, err, c.told)
			}
			set("wg0", sys.NewAttribute(3, key(8)), peer(addressed(1)))
		}
	})
}
