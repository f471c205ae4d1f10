package network

import (
	"cmp"
	"fmt"
)

// Judge says what the network's life means for this node: an error where it does not exist for the
// node's Kubernetes, or no longer; a warning where it is on its way out. That kOps has not called
// it stable is on its page. It is pure; package model calls it before it builds.
func (n Network) Judge(in Input) ([]Note, error) {
	if err := n.exists(in); err != nil {
		return nil, err
	}
	var b Built
	life, origin := n.Lifecycle, in.NetworkOrigin()
	level, next := life.level(in)
	switch {
	case level.Level == Deprecated && next.Level == Removed:
		b.note(Warning, origin, "%s is deprecated %s and goes with %s: move to %s before that", n.variant(level),
			level.since(), ends(next), life.instead())
	case level.Level == Deprecated:
		b.note(Warning, origin, "%s is deprecated %s: move to %s", n.variant(level), level.since(), life.instead())
	case next.Level == Removed || !life.Last.IsZero():
		b.note(Warning, origin, "%s goes with %s: move to %s before that", n.Name,
			cmp.Or(ends(next), "Kubernetes "+removedIn(life)), life.instead())
	}
	if life.Upstream != "" {
		b.note(Warning, origin, "the project behind %s is %s: what breaks there stays broken; move to %s", n.Name,
			life.Upstream, life.instead())
	}
	return b.Notes, nil
}

// exists refuses what cannot be had, or not with this Kubernetes.
func (n Network) exists(in Input) error {
	v, life := in.Node.KubernetesVersion, n.Lifecycle
	use := fmt.Sprintf("use %s (%s)", n.Name, in.NetworkOrigin())
	with := fmt.Sprintf("use %s with Kubernetes %s (%s)", n.Name, v, in.Origin("spec.kubernetesVersion"))
	switch last := life.Last; {
	case life.Gone != "":
		return fmt.Errorf("%s: %s: choose %s; what it left on a node is still found and removed", use, life.Gone,
			life.instead())
	case !life.First.IsZero() && !v.AtLeast(life.First.Major, life.First.Minor):
		return fmt.Errorf("%s: it exists from %s on: choose another network or a newer Kubernetes", with,
			release(life.First))
	case !last.IsZero() && v.AtLeast(last.Major, last.Minor+1):
		return fmt.Errorf("%s: it ended with %s: choose %s", with, release(last), life.instead())
	}
	if level, _ := life.level(in); level.Level == Removed {
		return fmt.Errorf("%s: it was removed with %s: choose %s", with, ends(level), life.instead())
	}
	return nil
}

// level is the stage that the node is in, and the one that comes next. Of a network that kOps is to
// give up, or has, the deprecation holds from the start: a Kubernetes that is older than it can
// have been installed by any later kOps.
func (l Lifecycle) level(in Input) (now, next Stage) {
	stages := l.variant(in)
	for i, s := range stages {
		if i == 0 || s.Level == Deprecated || s.reached(in.Node.KubernetesVersion) {
			now, next = s, Stage{}
			if i+1 < len(stages) {
				next = stages[i+1]
			}
		}
	}
	return now, next
}

// variant are the stages of the variant that the node has; else those of the network as a whole.
func (l Lifecycle) variant(in Input) []Stage {
	var own, whole []Stage
	for _, s := range l.Stages {
		switch {
		case s.If == nil:
			whole = append(whole, s)
		case s.If(in):
			own = append(own, s)
		}
	}
	if len(own) > 0 {
		return own
	}
	return whole
}

// variant names the network, and which form of it a stage is about.
func (n Network) variant(s Stage) string {
	if s.Of == "" {
		return n.Name
	}
	return n.Name + " with " + s.Of
}

// ends names the release that a removal comes with.
func ends(s Stage) string {
	switch {
	case s.Kops != "":
		return "kOps " + s.Kops + ", and so with Kubernetes " + s.Kops
	case s.Kubernetes != "":
		return "Kubernetes " + s.Kubernetes
	}
	return ""
}

// removedIn is the first release without the network.
func removedIn(l Lifecycle) string { return fmt.Sprintf("%d.%d", l.Last.Major, l.Last.Minor+1) }

func (l Lifecycle) instead() string { return cmp.Or(l.Instead, "another network") }
