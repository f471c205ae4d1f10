package network

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/values"
)

// Lifecycle says since when a network exists, how it stands, and what replaced it.
type Lifecycle struct {
	Stages []Stage        `json:"stages,omitempty"` // in kOps, oldest first; none: kOps never had it
	First  values.Version `json:"first"`            // first Kubernetes release; zero: any
	Last   values.Version `json:"last"`             // last Kubernetes release (major.minor); zero: still there
	// Gone says why it cannot be had any more, with any release: no source, no images. It can still
	// be cleaned away.
	Gone string `json:"gone,omitempty"`
	// Upstream is how the project itself stands: "" is maintained; else in words, "archived in June
	// 2024".
	Upstream string `json:"upstream,omitempty"`
	Instead  string `json:"instead,omitempty"` // what to choose in its place
	Note     string `json:"note,omitempty"`
	// Disagreements are where kOps' documents and its code differ; [All] fills them in from the one
	// list.
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
	Kops       string `json:"kops,omitempty"`       // since this release of kOps, "1.11"
	Kubernetes string `json:"kubernetes,omitempty"` // or since this release of Kubernetes
	Of         string `json:"of,omitempty"`         // of which variant: "backend udp", "ipam eni"

	If func(Input) bool `json:"-"` // this node has the variant; set exactly when Of is
}

// since is when a stage begins, in words: "since kOps 1.22".
func (s Stage) since() string {
	switch {
	case s.Kops != "":
		return "since kOps " + s.Kops
	case s.Kubernetes != "":
		return "since Kubernetes " + s.Kubernetes
	}
	return "in kOps"
}

// reached tells that a cluster of this Kubernetes release is in the stage for certain. Documents do
// not name the release of kOps, and need not: kOps 1.N is the first that installs Kubernetes 1.N.
// https://kops.sigs.k8s.io/welcome/releases/
func (s Stage) reached(kubernetes values.Version) bool {
	for _, since := range []string{s.Kops, s.Kubernetes} {
		if v, err := values.ParseVersion(since); err == nil && !kubernetes.AtLeast(v.Major, v.Minor) {
			return false
		}
	}
	return true
}

// Describe says how a network stands, a line each: in kOps, with Kubernetes, upstream.
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

// release is a version's MAJOR.MINOR.
func release(v values.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
