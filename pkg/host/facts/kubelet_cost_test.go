package facts

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// Each file of kubelet's unit is read once, although the flags of others are sought in all of them.
// The lines that keep it: pkg/host/facts/kubelet.go, byOthers.
func TestFilesOfKubeletsUnitAreReadOnce(t *testing.T) {
	const unit, dropIn = "/lib/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/20-site.conf"
	root := t.TempDir()
	write(t, root+unit, "[Service]\nExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS\n")
	write(t, root+dropIn, "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--v=4\n")
	opens, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	noError(t, err)
	defer unix.Close(opens)
	for _, file := range []string{unit, dropIn} {
		_, err := unix.InotifyAddWatch(opens, root+file, unix.IN_OPEN)
		noError(t, err)
	}
	g := newGatherer(sourcesOf(t, Options{Root: root}), &Facts{})
	g.kubelet()
	if set := g.facts.Kubelet.Set; len(set) != 1 || set[0].File != dropIn {
		t.Errorf("others set %v", set)
	}
	n, err := unix.Read(opens, make([]byte, 4096))
	if noError(t, err); n != 2*unix.SizeofInotifyEvent {
		t.Errorf("two files were opened %d times", n/unix.SizeofInotifyEvent)
	}
}
