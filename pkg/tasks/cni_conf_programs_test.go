package tasks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// The programs that each conf calls, for confs as the networks themselves have them.
func TestPrograms(t *testing.T) {
	for _, c := range []struct{ name, conf, want string }{
		{"kubenet's", `{"cniVersion":"1.0.0","name":"k8s-pod-network","plugins":[{"type":"ptp","ipam":{"type":"host-local"}},{"type":"portmap"}]}`,
			"ptp host-local<ptp portmap 1.0.0"},
		{"one plugin, no version", `{"name":"x","type":"bridge","ipam":{}}`, "bridge 0.1.0"},
		{"several versions", `{"cniVersions":["1.0.0","1.1.0"],"name":"x","plugins":[{"type":"ptp"}]}`, "ptp 1.1.0"},
		{"flannel's delegate", `{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"flannel","delegate":{"hairpinMode":true}},{"type":"portmap"}]}`,
			"flannel portmap bridge<flannel host-local<bridge 0.3.1"},
		{"flannel with another delegate", `{"name":"x","plugins":[{"type":"flannel","delegate":{"type":"ipvlan","ipam":{"type":"dhcp"}}}]}`, "flannel ipvlan<flannel dhcp<ipvlan 0.1.0"},
		{"a delegate that is none", `{"name":"x","plugins":[{"type":"flannel","delegate":7}]}`, "flannel bridge<flannel host-local<bridge 0.1.0"},
		{"Multus with its master inside", `{"cniVersion":"0.3.1","name":"m","type":"multus","delegates":[{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"flannel"},{"type":"portmap"}]},7]}`,
			"multus flannel<multus portmap<multus bridge<flannel host-local<bridge 0.3.1"},
		{"Multus that finds the next conf", `{"cniVersion":"0.3.1","name":"m","type":"multus-shim","clusterNetwork":"/host/etc/cni/net.d/10-x.conflist"}`, "multus-shim 0.3.1"},
		{"ACI's marker", `{"cniVersion":"0.3.1","name":"k8s-pod-network","plugins":[{"type":"opflex-agent-cni","ipam":{"type":"opflex-agent-cni-ipam"}}]}`, "opflex-agent-cni 0.3.1"},
		{"Romana's marker", `{"name":"romana-k8s-network","type":"romana","ipam":{"type":"romana-ipam"}}`, "romana 0.1.0"},
		{"Cilium's ENI settings", `{"cniVersion":"0.3.1","name":"cilium","plugins":[{"type":"cilium-cni","ipam":{"pre-allocate":8}}]}`, "cilium-cni 0.3.1"},
		{"one plugin twice", `{"name":"x","plugins":[{"type":"tuning"},{"type":"tuning"}]}`, "tuning 0.1.0"},
		{"a path is no program", `{"name":"x","plugins":[{"type":"../sh"}]}`, ""},
	} {
		conf, err := WaitConf{}.readConf(host.View{Files: oneFile{content: []byte(c.conf)}}, map[bool]string{true: "/x.conflist", false: "/x.conf"}[strings.Contains(c.conf, `"plugins"`) && !strings.Contains(c.conf, "multus")])
		if err != nil {
			t.Errorf("%s: readConf returns %v", c.name, err)
			continue
		}
		var got []string
		versions := ""
		for _, p := range conf.Programs() {
			if p.CalledBy != "" {
				p.Name += "<" + p.CalledBy
			}
			got, versions = append(got, p.Name), p.Version
		}
		if text := strings.TrimSpace(fmt.Sprintf("%s %s", strings.Join(got, " "), versions)); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}
