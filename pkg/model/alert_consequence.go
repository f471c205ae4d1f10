package model

import (
	"fmt"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/tasks"
)

// Consequence returns, for the engineer on call, what pods lack while a task that they depend on
// (see [PodsDependOn]) is not right.
func Consequence(t tasks.Task) string {
	switch t := t.(type) {
	case tasks.Sysctl:
		return sysctlConsequence(t.Key)
	case tasks.Module:
		return fmt.Sprintf("the kernel has no %s: pods' packets are not handled as the network needs it", t.Name)
	case tasks.File:
		return fmt.Sprintf("%s is missing or wrong: no pod can be started or stopped; pods that run go on",
			path.Base(t.Path))
	case tasks.Archive:
		return "CNI plugins are missing or wrong: no pod can be started or stopped; pods that run go on"
	}
	return consequences[t.Owns()[0].Kind()]
}

// consequences maps a kind to what pods lack while a key of this kind is missing or wrong.
var consequences = map[string]string{
	"link":    "the pods' link is missing or wrong: pods of this node are cut off",
	"address": "the pods' gateway does not have its address: pods of this node are cut off",
	"route":   "a route to pods is missing: this node does not reach these pods",
	"rule":    "a routing rule of the network is missing: pods' packets go elsewhere",
	"nft":     "rules for pods' packets are missing: the packets are not translated (NAT), or are dropped",
}

func sysctlConsequence(key string) string {
	name := strings.ReplaceAll(key, "/", ".")
	switch {
	case name == "net.ipv4.ip_forward", strings.HasSuffix(name, ".forwarding"),
		strings.HasSuffix(name, ".mc_forwarding"):
		return "forwarding is off: pods reach nothing outside of this node"
	case strings.HasPrefix(name, "net.bridge.bridge-nf-call-"):
		return "bridged packets do not go through the rules: services do not reach pods of the same node"
	case strings.HasSuffix(name, ".rp_filter"):
		return "the kernel may drop pods' packets that come by another link than it expects"
	}
	return name + " is not as the network needs it: pods' packets may be dropped"
}
