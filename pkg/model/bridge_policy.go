package model

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// bridgePolicyPath is where the documents say who decides on br_netfilter's keys.
const bridgePolicyPath = "spec.networking.bridgeNetfilter"

// bridgeKeys send bridged packets through iptables and ip6tables. A network of bridges with
// kube-proxy wants 1; one whose own programs handle bridged packets may want 0; who has neither
// leaves them as the kernel and others have them. https://docs.kernel.org/networking/bridge.html
var bridgeKeys = []string{"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"}

func isBridgeKey(key string) bool {
	return slices.ContainsFunc(bridgeKeys, func(k string) bool { return tasks.SysctlKey(k) == tasks.SysctlKey(key) })
}

// bridgePolicy are the keys as the documents want them; none where the network decides, or nobody.
func (b *builder) bridgePolicy() []network.Sysctl {
	value := b.in.Node.Networking.BridgeNetfilter
	if value == "" || value == networks.Unmanaged {
		return nil
	}
	var out []network.Sysctl
	for _, key := range bridgeKeys {
		// Without the module nothing goes through iptables: as 0 says.
		out = append(out,
			network.Sysctl{Key: key, Value: value, Why: bridgePolicyPath, Required: true, Optional: value == "0"})
	}
	if value == "0" &&
		slices.ContainsFunc(b.net.Sysctls, func(s network.Sysctl) bool { return s.Required && isBridgeKey(s.Key) }) {
		b.note(network.Warning, b.view.Origin(bridgePolicyPath),
			"kube-proxy's iptables rules do not see what pods of one bridge send to each other: a service does not "+
				"reach a pod of the same node, unless another program makes it")
	}
	return out
}

// leftToOthers says that the documents take a key of the network's away from us.
func (b *builder) leftToOthers(key string) bool {
	return b.in.Node.Networking.BridgeNetfilter == networks.Unmanaged && isBridgeKey(key)
}

// againstBridgePolicy says what is wrong with a user's parameter, "" if nothing is.
func (b *builder) againstBridgePolicy(u extras.Sysctl) string {
	policy := b.in.Node.Networking.BridgeNetfilter
	if policy == "" || policy == u.Value || !isBridgeKey(u.Key) {
		return ""
	}
	return fmt.Sprintf("set %s to %q (%s): %s (%s) is %s: remove one of the two", u.Key, u.Value, u.Origin,
		bridgePolicyPath, b.view.Origin(bridgePolicyPath), policy)
}

// bridgeModule is what the keys exist with, where the documents want it and the network does not
// load it.
func (b *builder) bridgeModule() []network.Module {
	loads := slices.ContainsFunc(b.net.Modules,
		func(m network.Module) bool { return m.Name == "br_netfilter" && m.Applies(b.view) })
	if b.in.Node.Networking.BridgeNetfilter != "1" || loads {
		return nil
	}
	return []network.Module{{Name: "br_netfilter", Why: bridgePolicyPath}}
}

// bridgeHint says what else than taking the parameter out ends a conflict over a key.
func bridgeHint(key string) string {
	if isBridgeKey(key) {
		return "say it in " + bridgePolicyPath
	}
	return "choose another network"
}
