package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Weave has the fields of kOps' weave. The node acts on mtu. The rest is for the DaemonSet, and is
// only recorded here. https://github.com/kubernetes/kops/blob/v1.22.0/pkg/apis/kops/networking.go,
// WeaveNetworkingSpec
type Weave struct {
	MTU       int `json:"mtu,omitempty"`       // WEAVE_MTU; not said: Weave's 1376
	ConnLimit int `json:"connLimit,omitempty"` // how many peers one node talks to; not said: 200. For its DaemonSet
	// 1: clients keep their address with externalTrafficPolicy: Local; for its DaemonSet
	NoMasqLocal int    `json:"noMasqLocal,omitempty"`
	NetExtra    string `json:"netExtraArgs,omitempty"` // further arguments of weaver; for its DaemonSet
	NPCExtra    string `json:"npcExtraArgs,omitempty"` // further arguments of weave-npc; for its DaemonSet
	Version     string `json:"version,omitempty"`      // of Weave; for its DaemonSet
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
