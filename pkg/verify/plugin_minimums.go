package verify

import (
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// Minimums returns the oldest spec versions that a network's plugins must support, by the releases
// of assets that it names. Kubernetes' own minimum of loopback, bridge and host-local is release
// 0.2.0, with spec 0.2.0.
// https://v1-23.docs.kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/
func Minimums(n network.Network) map[string]string {
	out := map[string]string{"loopback": "0.2.0", "bridge": "0.2.0", "host-local": "0.2.0"}
	for _, p := range n.Plugins {
		least, err := values.ParseVersion(p.Minimum)
		if p.Asset != network.CNIPlugins || err != nil {
			continue
		}
		for _, member := range p.Members {
			out[member] = specOf(least)
		}
	}
	return out
}

// specOf returns the newest spec that a release of the reference plugins knows, by the version of
// libcni that it is built with. Sources: go.mod from 0.8.7 on, and Godeps/Godeps.json before, of
// https://github.com/containernetworking/plugins; and pkg/version of
// https://github.com/containernetworking/cni at that version.
func specOf(release values.Version) string {
	switch {
	case release.AtLeast(1, 6): // libcni 1.2.3
		return "1.1.0"
	case release.AtLeast(1, 0): // libcni 1.0.0 to 1.1.2
		return "1.0.0"
	case release.AtLeast(0, 8): // libcni 0.7.0, 0.8.0
		return "0.4.0"
	case release.AtLeast(0, 6): // libcni 0.6.0-rc1
		return "0.3.1"
	}
	return "0.2.0"
}
