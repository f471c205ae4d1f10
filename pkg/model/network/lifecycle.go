package network

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
)

// Lifecycle says from when to when a network exists, how well it is maintained, and what replaces
// it.
type Lifecycle struct {
	Stages []Stage        `json:"stages,omitempty"` // in kOps, oldest first; none: kOps never had it
	First  values.Version `json:"first"`            // first Kubernetes release; zero: any
	Last   values.Version `json:"last"`             // last Kubernetes release (major.minor); zero: it has not ended
	// Gone says why no release of it can be used any more: no source, no images. The agent can
	// still remove what it left on a node.
	Gone string `json:"gone,omitempty"`
	// Upstream describes the state of the upstream project, such as "archived in June 2024"; "":
	// maintained.
	Upstream string `json:"upstream,omitempty"`
	Instead  string `json:"instead,omitempty"` // what to choose instead
	Note     string `json:"note,omitempty"`
	// Disagreements are the differences between kOps' documents and its code. [All] fills them in
	// from [Disagreements].
	Disagreements []Disagreement `json:"disagreements,omitempty"`
}

// Levels of a [Stage].
const (
	Experimental = "experimental"
	Stable       = "stable"
	Deprecated   = "deprecated"
	Removed      = "removed"
)

// Stage is a step in the life of a network in kOps. https://kops.sigs.k8s.io/networking/
type Stage struct {
	Level      string `json:"level"`
	Kops       string `json:"kops,omitempty"`       // the first release of kOps in this stage, "1.11"
	Kubernetes string `json:"kubernetes,omitempty"` // or the first release of Kubernetes
	Of         string `json:"of,omitempty"`         // the variant, if only one has the stage: "backend udp", "ipam eni"

	If func(Input) bool `json:"-"` // reports whether this node has the variant; set if and only if Of is
}

// since returns when the stage begins: "since kOps 1.22".
func (s Stage) since() string {
	switch {
	case s.Kops != "":
		return "since kOps " + s.Kops
	case s.Kubernetes != "":
		return "since Kubernetes " + s.Kubernetes
	}
	return "in kOps"
}

// reached reports whether a cluster with this Kubernetes release is certainly in the stage.
// Documents do not name the release of kOps, but kOps 1.N is the first release that installs
// Kubernetes 1.N.
// https://kops.sigs.k8s.io/welcome/releases/
func (s Stage) reached(kubernetes values.Version) bool {
	for _, since := range []string{s.Kops, s.Kubernetes} {
		if v, err := values.ParseVersion(since); err == nil && !kubernetes.AtLeast(v.Major, v.Minor) {
			return false
		}
	}
	return true
}

// Describe returns the state of a network, one line each: in kOps, with Kubernetes, upstream.
func (l Lifecycle) Describe() []string {
	var out, stages []string
	for _, s := range l.Stages {
		words := s.Level
		if s.Of != "" {
			words = s.Of + " " + words
		}
		stages = append(stages, words+" "+s.since())
	}
	if len(stages) == 0 {
		stages = []string{"not in kOps"}
	}
	out = append(out, strings.Join(stages, ", "))
	switch {
	case l.Gone != "":
		out = append(out, "cannot be chosen: "+l.Gone)
	case !l.First.IsZero() && !l.Last.IsZero():
		out = append(out, fmt.Sprintf("Kubernetes %s to %s", release(l.First), release(l.Last)))
	case !l.First.IsZero():
		out = append(out, fmt.Sprintf("Kubernetes %s and up", release(l.First)))
	case !l.Last.IsZero():
		out = append(out, fmt.Sprintf("Kubernetes up to %s", release(l.Last)))
	}
	if l.Upstream != "" {
		out = append(out, "upstream: "+l.Upstream)
	}
	if l.Instead != "" {
		out = append(out, "choose instead: "+l.Instead)
	}
	if l.Note != "" {
		out = append(out, l.Note)
	}
	for _, d := range l.Disagreements {
		out = append(out, d.Describe())
	}
	return out
}

// release returns MAJOR.MINOR of a version.
func release(v values.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
