package config

// Weave is kOps' weave. The node acts on mtu; the rest is for the DaemonSet, and only recorded here.
// https://github.com/kubernetes/kops/blob/v1.22.0/pkg/apis/kops/networking.go, WeaveNetworkingSpec
type Weave struct {
	MTU         int    `json:"mtu,omitempty"`         // WEAVE_MTU; 0: Weave's 1376
	ConnLimit   int    `json:"connLimit,omitempty"`   // peers that one node talks to; 0: 200
	NoMasqLocal int    `json:"noMasqLocal,omitempty"` // 1: clients keep their address with externalTrafficPolicy: Local
	NetExtra    string `json:"netExtraArgs,omitempty"`
	NPCExtra    string `json:"npcExtraArgs,omitempty"`
	Version     string `json:"version,omitempty"`
}

func (d *decoder) weave(w *Weave) []field {
	fields := []field{
		{name: "mtu", set: d.mtu(&w.MTU)},
		{name: "connLimit", set: d.number(&w.ConnLimit, 0, 100_000)},
		{name: "noMasqLocal", set: d.number(&w.NoMasqLocal, 0, 1)},
		{name: "netExtraArgs", set: d.text(&w.NetExtra, nil)},
		{name: "npcExtraArgs", set: d.text(&w.NPCExtra, nil)},
		{name: "version", set: d.text(&w.Version, nil)},
	}
	for _, name := range weaveResources {
		fields = append(fields, field{name: name, set: d.ignore, unlisted: true})
	}
	return fields
}

// weaveResources are requests and limits of its containers: quantities, such as 50m and 200Mi.
var weaveResources = [...]string{"memoryRequest", "cpuRequest", "memoryLimit", "cpuLimit", "npcMemoryRequest", "npcCPURequest", "npcMemoryLimit", "npcCPULimit"}
