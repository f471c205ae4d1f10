package facts

import (
	"strings"
	"testing"
)

// kubeadmConfig is a KubeletConfiguration with as many fields as kubeadm writes.
var kubeadmConfig = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nclusterDNS:\n- 10.96.0.10\n" +
	"authentication:\n  anonymous:\n    enabled: false\n  webhook:\n    cacheTTL: 0s\n    enabled: true\n" +
	"logging:\n  options:\n    json:\n      infoBufferSize: \"0\"\n" + strings.Repeat("nodeStatusUpdateFrequency: 0s\n", 30)

// Each pass reads kubelet's configuration, so that must be cheap. The line that keeps it:
// pkg/host/facts/kubelet.go, kubeletConfig.
func TestKubeletConfigurationCosts(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/config.yaml", kubeadmConfig)
	g := gatherer{Sources: sourcesOf(t, Options{Root: root}), facts: &Facts{}}
	k := &KubeletFacts{ConfigFile: "/config.yaml"}
	if objects := testing.AllocsPerRun(5, func() { g.kubeletConfig(k) }); objects > 800 {
		t.Errorf("kubelet's configuration takes %.0f objects to read", objects)
	}
	if got := g.kubeletConfig(k)["clusterDNS"]; got == nil {
		t.Error("it has no clusterDNS")
	}
}
