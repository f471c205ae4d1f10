package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Weave has the fields of kOps' weave. The node acts on mtu. The rest is for the DaemonSet, and is
// only recorded here. https://github.com/kubernetes/kops/blob/v1.22.0/pkg/apis/kops/networking.go,
// WeaveNetworkingSpec
type Weave struct {
	// MTU: Says WEAVE_MTU in bytes. Without it, Weave uses 1376. Only the DaemonSet sets it.
	MTU int `json:"mtu,omitempty"`
	// ConnLimit: Sets how many peers one node talks to. Without it, the limit is 200. Only the
	// DaemonSet uses it.
	ConnLimit int `json:"connLimit,omitempty"`
	// NoMasqLocal: 1 means that clients keep their address with externalTrafficPolicy: Local. Only
	// the DaemonSet uses it.
	NoMasqLocal int `json:"noMasqLocal,omitempty"`
	// NetExtra: Sets further arguments of weaver. Only the DaemonSet uses it.
	NetExtra string `json:"netExtraArgs,omitempty"`
	// NPCExtra: Sets further arguments of weave-npc. Only the DaemonSet uses it.
	NPCExtra string `json:"npcExtraArgs,omitempty"`
	// Version: Sets the version of Weave. Only the DaemonSet uses it.
	Version string `json:"version,omitempty"`
}

func (w *Weave) fields() []decode.Field {
	fields := []decode.Field{
		decode.MTU("mtu", &w.MTU),
		decode.Number("connLimit", &w.ConnLimit, 0, 100_000),
		decode.Number("noMasqLocal", &w.NoMasqLocal, 0, 1),
		decode.Text("netExtraArgs", &w.NetExtra, nil),
		decode.Text("npcExtraArgs", &w.NPCExtra, nil),
		decode.Text("version", &w.Version, nil),
	}
	for _, name := range weaveResources {
		fields = append(fields, decode.Unread(name).Unlisted())
	}
	return fields
}

// weaveResources are the requests and limits of Weave's containers: quantities such as 50m and
// 200Mi.
var weaveResources = [...]string{"memoryRequest", "cpuRequest", "memoryLimit", "cpuLimit", "npcMemoryRequest",
	"npcCPURequest", "npcMemoryLimit", "npcCPULimit"}
