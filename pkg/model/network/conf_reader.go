package network

import (
	"math"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/tasks"
)

// triesOthers reports whether the program that reads the confs goes on to the next file if one is
// broken or names a plugin that is not installed. cri-dockerd does, as kubelet did with docker.
// https://github.com/Mirantis/cri-dockerd/blob/master/network/cni/cni.go (getDefaultCNINetwork)
func (in Input) triesOthers() bool {
	return in.DockerKubelet() || slices.Contains([]string{"cri-o", "docker"}, in.Facts.Runtime.Name)
}

// consumer returns the program that reads the confs on this node, with what the libcni of its
// release can do. Sources: go.mod of
// https://github.com/containerd/containerd and https://github.com/kubernetes/kubernetes, and
// pkg/version of https://github.com/containernetworking/cni at the version in that go.mod.
func (in Input) consumer() tasks.Consumer {
	if in.DockerKubelet() {
		return tasks.Consumer{Name: "kubelet", Spec: "0.4.0", // libcni 0.7 and 0.8
			Validates: in.Node.KubernetesVersion.AtLeast(1, 16)} // kubernetes#80482
	}
	rt := in.Facts.Runtime
	c := tasks.Consumer{Name: strings.TrimSpace(rt.Name + " " + rt.Version), LoadsPluginDir: true,
		Validates: in.triesOthers(), Network: rt.DefaultNetwork}
	switch {
	case rt.Name != "containerd" || rt.From == "" || rt.MaxConfNum == 1:
	case rt.MaxConfNum < 1: // all files
		c.Loads = math.MaxInt
	default:
		c.Loads = rt.MaxConfNum
	}
	core, _, _ := strings.Cut(rt.Version, "~") // Debian's version is 1.6.20~ds1
	release, err := values.ParseVersion(core)
	if rt.Name != "containerd" || err != nil {
		return c
	}
	switch {
	case !release.AtLeast(1, 6): // libcni 0.8
		c.Spec, c.LoadsPluginDir = "0.4.0", false
	case !release.AtLeast(2, 0): // libcni 1.0 and 1.1
		c.Spec, c.LoadsPluginDir = "1.0.0", false
	case !release.AtLeast(2, 1): // libcni 1.2
		c.Spec, c.LoadsPluginDir = "1.1.0", false
	case !release.AtLeast(2, 3): // libcni 1.3; for later releases Spec stays unknown
		c.Spec = "1.1.0"
	}
	return c
}
