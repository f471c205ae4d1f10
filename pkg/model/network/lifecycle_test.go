package network

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
)

// TestJudge has the text for each state of a network's support: refused, warned of, or no text.
// Only the network's page says that it is experimental.
func TestJudge(t *testing.T) {
	udp := func(in Input) bool { return in.Node.Networking.Flannel.Backend == "udp" }
	leaving := Lifecycle{Instead: "cilium", Stages: []Stage{{Level: Experimental, Kops: "1.11"}, {Level: Deprecated, Kops: "1.22"}, {Level: Removed, Kops: "1.23"}}}
	grown := Lifecycle{Stages: []Stage{{Level: Experimental, Kops: "1.9"}, {Level: Stable, Kops: "1.21"}}}
	for _, c := range []struct {
		name string
		life Lifecycle
		v    values.Version
		want string // "" for no text; otherwise the note with its level, or the error
	}{
		{"nothing to say", Lifecycle{}, version(1, 30), ""},
		{"stable from the start", Lifecycle{Stages: []Stage{{Level: Stable, Kops: "1.5"}}}, version(1, 4), ""},
		{"stable by now", grown, version(1, 21), ""},
		{"not yet stable", grown, version(1, 20), ""},
		{"never stable", Lifecycle{Stages: []Stage{{Level: Experimental, Kops: "1.32"}}}, version(1, 20), ""},
		{"of the variant", Lifecycle{Stages: []Stage{{Level: Stable, Kops: "1.5"}, {Level: Deprecated, Kops: "1.6", Of: "backend udp", If: udp}}}, version(1, 20),
			"warning: flannel with backend udp is deprecated since kOps 1.6"},
		{"of another variant", Lifecycle{Stages: []Stage{{Level: Stable, Kops: "1.5"}, {Level: Deprecated, Kops: "1.6", Of: "backend vxlan", If: flannelBackend("vxlan").If}}}, version(1, 20), ""},
		{"to be removed", leaving, version(1, 20), "warning: flannel is deprecated since kOps 1.22 and goes with kOps 1.23, and so with Kubernetes 1.23: move to cilium before that"},
		{"removed by kOps", leaving, version(1, 23), "error: use flannel with Kubernetes 1.23.0 (node default): it was removed with kOps 1.23, and so with Kubernetes 1.23: choose cilium"},
		{"removed by Kubernetes", Lifecycle{Stages: []Stage{{Level: Stable, Kops: "1.5"}, {Level: Removed, Kubernetes: "1.28"}}}, version(1, 28), "error: use flannel with Kubernetes 1.28.0 (node default): it was removed with Kubernetes 1.28: choose another network"},
		{"removed later", Lifecycle{Stages: []Stage{{Level: Stable, Kops: "1.5"}, {Level: Removed, Kubernetes: "1.28"}}}, version(1, 27), "warning: flannel goes with Kubernetes 1.28: move to another network before that"},
		{"deprecated", Lifecycle{Stages: []Stage{{Level: Deprecated, Kops: "1.27"}}}, version(1, 33), "warning: flannel is deprecated since kOps 1.27: move to another network"},
		{"too old", Lifecycle{First: version(1, 12)}, version(1, 11), "error: use flannel with Kubernetes 1.11.0 (node default): it exists from 1.12 on: choose another network or a newer Kubernetes"},
		{"too new", Lifecycle{Last: version(1, 21), Instead: "calico"}, version(1, 22), "error: use flannel with Kubernetes 1.22.0 (node default): it ended with 1.21: choose calico"},
		{"the last", Lifecycle{Last: version(1, 21), Instead: "calico"}, version(1, 21), "warning: flannel goes with Kubernetes 1.22: move to calico before that"},
		{"gone", Lifecycle{Gone: "its source is lost", Instead: "calico"}, version(1, 21), "error: use flannel (node default): its source is lost: choose calico"},
		{"archived", Lifecycle{Upstream: "archived in June 2024", Instead: "calico"}, version(1, 30), "warning: the project behind flannel is archived in June 2024: what breaks there stays broken; move to calico"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := Network{Name: "flannel", Lifecycle: c.life}
			in := Input{Node: &config.Node{KubernetesVersion: c.v, Networking: networks.Networking{Flannel: &networks.Flannel{Backend: "udp"}}}}
			got := judged(n.Judge(in))
			if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func judged(notes []Note, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, n := range notes {
		out = append(out, string(n.Level)+": "+n.Text)
	}
	return strings.Join(out, "; ")
}

// TestStages checks each network's stages against its terms.
func TestStages(t *testing.T) {
	for _, n := range All() {
		l := n.Lifecycle
		for _, s := range l.Stages {
			if (s.If != nil) != (s.Of != "") {
				t.Errorf("%s: stage %s needs a condition exactly if it is of a variant", n.Name, s.Level)
			}
			for _, v := range []string{s.Kops, s.Kubernetes} {
				if _, err := values.ParseVersion(v); v != "" && err != nil {
					t.Errorf("%s: stage %s: %v", n.Name, s.Level, err)
				}
			}
			if (s.Level == Deprecated || s.Level == Removed) && l.Instead == "" {
				t.Errorf("%s is %s, and nothing says what to choose instead", n.Name, s.Level)
			}
		}
		if (l.Gone != "" || l.Upstream != "" || !l.Last.IsZero()) && l.Instead == "" {
			t.Errorf("%s ended or is not maintained, and nothing says what to choose instead", n.Name)
		}
	}
}
