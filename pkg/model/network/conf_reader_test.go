package network

import (
	"math"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// The consumer of the confs knows the spec of its release. For an unknown consumer nothing is said.
func TestConsumer(t *testing.T) {
	for _, c := range []struct {
		runtime, version string
		want             tasks.Consumer
	}{
		{"containerd", "1.5.18", tasks.Consumer{Name: "containerd 1.5.18", Spec: "0.4.0"}},
		{"containerd", "1.6.20~ds1", tasks.Consumer{Name: "containerd 1.6.20~ds1", Spec: "1.0.0"}},
		{"containerd", "1.7.29", tasks.Consumer{Name: "containerd 1.7.29", Spec: "1.0.0"}},
		{"containerd", "2.0.7", tasks.Consumer{Name: "containerd 2.0.7", Spec: "1.1.0"}},
		{"containerd", "2.2.0", tasks.Consumer{Name: "containerd 2.2.0", Spec: "1.1.0", LoadsPluginDir: true}},
		{"containerd", "2.9.0", tasks.Consumer{Name: "containerd 2.9.0", LoadsPluginDir: true}},
		{"containerd", "", tasks.Consumer{Name: "containerd", LoadsPluginDir: true}},
		{"cri-o", "1.30.0", tasks.Consumer{Name: "cri-o 1.30.0", LoadsPluginDir: true, Validates: true}},
		{"docker", "", tasks.Consumer{Name: "docker", LoadsPluginDir: true, Validates: true}}, // it uses cri-dockerd
		{"", "", tasks.Consumer{LoadsPluginDir: true}},
	} {
		in := Input{Node: &config.Node{KubernetesVersion: values.Version{Major: 1, Minor: 30}}, Facts: &host.Facts{Runtime: host.RuntimeFacts{Name: c.runtime, Version: c.version}}}
		if got := in.consumer(); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.runtime, c.version, got, c.want)
		}
	}
	for confs, loads := range map[int]int{1: 0, 2: 2, 0: math.MaxInt, -1: math.MaxInt} {
		in := Input{Node: &config.Node{}, Facts: &host.Facts{Runtime: host.RuntimeFacts{Name: "containerd", From: "cri status", MaxConfNum: confs}}}
		if got := in.consumer().Loads; got != loads {
			t.Errorf("max_conf_num %d: it loads %d files, want %d", confs, got, loads)
		}
	}
	old := Input{Node: &config.Node{ContainerRuntime: "docker", KubernetesVersion: values.Version{Major: 1, Minor: 18}}, Facts: &host.Facts{}}
	if got, want := old.consumer(), (tasks.Consumer{Name: "kubelet", Spec: "0.4.0", Validates: true}); got != want {
		t.Errorf("kubelet with docker: %+v, want %+v", got, want)
	}
}
