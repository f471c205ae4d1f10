package netstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// An undo restores the settings of a link: its own, those of its kind and those of a port. It does
// so also if the port left its bridge, if one setting must be set after another, and if a setting
// was absent. The link has the same names and listens to the same groups as before. If a link of
// Kubernetes was made again, its settings stay. What is not restored is reported. The lines that
// keep it: link_settings.go, listSettings and restoreSettings.
func TestRestoreBringsSettingsBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `for l in up port pod; do ip link add ${l}0 type veth peer name ${l}1; ip link set ${l}0 up; done
ip link set up0 txqueuelen 777 group 7 gso_max_size 40000 alias uplink; ip link property add dev up0 altname enp7s7; ip token set ::7 dev up0
ip link add br0 type bridge stp_state 1 max_age 3000 hello_time 900 forward_delay 2900 ageing_time 7000 priority 4096 mcast_snooping 0 group_fwd_mask 8 no_linklocal_learn 1
ip link set port0 master br0; ip link set port0 type bridge_slave cost 77 priority 7 hairpin on guard on learning off isolated on flood off neigh_suppress on
ip link set pod0 master br0; ip link set pod0 type bridge_slave hairpin on
ip link add vx0 type vxlan id 7 dstport 4789 ageing 77 ttl 7; ip link add mac0 link up0 type macvlan mode bridge; ip link add tap0 link pod1 type macvtap mode bridge
for l in src none; do ip link add ${l}0 link up0 type macvlan mode source; done; for n in 1 2 3; do ip link set src0 type macvlan macaddr add 02:00:00:00:00:0$n; done
ip link add cni9 type bridge ageing_time 7000`)
	look := func() []map[string]any {
		list := slices.DeleteFunc(ns.IPJSON("link"), func(l map[string]any) bool { return l["ifname"] == "cni9" })
		for _, l := range list {
			for _, what := range []string{"operstate", "promiscuity", "flags", "tso_max_size"} {
				delete(l, what)
			}
			info, _ := l["linkinfo"].(map[string]any)
			for _, of := range []string{"info_data", "info_slave_data"} {
				data, _ := info[of].(map[string]any)
				maps.DeleteFunc(data, func(k string, _ any) bool { // counters and timers
					return strings.HasSuffix(k, "_timer") || slices.Contains([]string{"state", "bridge_id", "root_id", "id", "no"}, k)
				})
			}
		}
		return append(list, map[string]any{"token": ns.Run("ip", "token")})
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", `ip link set up0 txqueuelen 1 group 0 gso_max_size 65536 alias ''; ip link set up1 alias other; ip link property del dev up0 altname enp7s7; ip token set ::9 dev up0
ip link set port0 nomaster; ip link set pod0 type bridge_slave hairpin off; ip link set up1 master br0; ip link set pod0 type bridge_slave backup_port up1
ip link set br0 type bridge hello_time 200 forward_delay 200 max_age 600 stp_state 0 ageing_time 30000 priority 8192 mcast_snooping 1 group_fwd_mask 0 no_linklocal_learn 0
ip link set vx0 type vxlan ageing 9 ttl 9 remote 192.0.2.9; ip link set mac0 type macvlan mode private; ip link set tap0 type macvtap mode private
ip link set src0 type macvlan macaddr del 02:00:00:00:00:01; ip link set src0 type macvlan macaddr add 02:00:00:00:00:09; ip link set none0 type macvlan macaddr add 02:00:00:00:00:09
ip link property add dev up0 altname other7 altname another7; ip link property add dev up1 altname other8; ip link del cni9; ip link add cni9 type bridge`)
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Errorf("not as before (-before +after):\n%s", diff)
			}
		}
		if data, _ := json.Marshal(ns.IPJSON("link", "show", "cni9")); !strings.Contains(string(data), `"ageing_time":30000`) {
			t.Errorf("made again by Kubernetes: %s", data)
		}
		number := fmt.Sprint(ns.IPJSON("link", "show", "vx0")[0]["ifindex"])
		ns.IP("link del vx0", "link add vx0 index "+number+" type vxlan id 9 dstport 4789 ageing 77 ttl 7")
		ok(t, h.Restore(ctx, was, Made{}))
		lost, err := h.Lost(ctx, was)
		ok(t, err)
		if !cmp.Equal(lost, []string{"settings of link vx0 (ip -d link)"}) {
			t.Errorf("lost: %q", lost)
		}
	})
}
