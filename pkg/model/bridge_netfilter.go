package model

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// bridgePolicyPath is the path of the setting in the documents that decides who sets
// br_netfilter's keys.
const bridgePolicyPath = "spec.networking.bridgeNetfilter"

// bridgeKeys are the sysctls that send bridged packets through iptables and ip6tables. A bridge
// network with kube-proxy needs 1. A network whose own programs handle bridged packets may need 0.
// Any other network leaves the keys as they are. https://docs.kernel.org/networking/bridge.html
var bridgeKeys = []string{"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"}

func isBridgeKey(key string) bool {
	return slices.ContainsFunc(bridgeKeys, func(k string) bool { return tasks.SysctlKey(k) == tasks.SysctlKey(key) })
}

// bridgePolicy returns bridgeKeys with the values of the documents. It returns none where the
// network decides, or where the documents leave the keys to other programs.
func (b *builder) bridgePolicy() []network.Sysctl {
	value := b.in.Node.Networking.BridgeNetfilter
	if value == "" || value == networks.Unmanaged {
		return nil
	}
	var out []network.Sysctl
	for _, key := range bridgeKeys {
		// Without the module no bridged packet goes through iptables. This equals 0.
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

// leftToOthers reports whether the documents leave a key of the network to other programs.
func (b *builder) leftToOthers(key string) bool {
	return b.in.Node.Networking.BridgeNetfilter == networks.Unmanaged && isBridgeKey(key)
}

// againstBridgePolicy returns the conflict between a user's sysctl and the bridge policy, or "".
func (b *builder) againstBridgePolicy(u extras.Sysctl) string {
	policy := b.in.Node.Networking.BridgeNetfilter
	if policy == "" || policy == u.Value || !isBridgeKey(u.Key) {
		return ""
	}
	return fmt.Sprintf("set %s to %q (%s): %s (%s) is %s: remove one of the two", u.Key, u.Value, u.Origin,
		bridgePolicyPath, b.view.Origin(bridgePolicyPath), policy)
}

// bridgeModule returns the module that the keys need, if the documents want the keys and the
// network does not load the module.
func (b *builder) bridgeModule() []network.Module {
	loads := slices.ContainsFunc(b.net.Modules,
		func(m network.Module) bool { return m.Name == "br_netfilter" && m.Applies(b.view) })
	if b.in.Node.Networking.BridgeNetfilter != "1" || loads {
		return nil
	}
	return []network.Module{{Name: "br_netfilter", Why: bridgePolicyPath}}
}

// bridgeHint returns how a user can end a conflict over a key, other than by removing the sysctl.
func bridgeHint(key string) string {
	if isBridgeKey(key) {
		return "say it in " + bridgePolicyPath
	}
	return "choose another network"
}
