package network

import (
	"cmp"
	"fmt"
)

// Judge checks whether the network may be used on this node. It returns an error if the network
// does not exist for the node's Kubernetes release, or no longer. It returns a warning if the
// network is deprecated, will be removed, or is no longer maintained. It does not report that kOps
// calls a network experimental; the network's page does. Judge is pure, and package model calls it
// before Build.
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

// exists returns an error if the network does not exist any more, or not for this Kubernetes
// release.
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

// level returns the stage that the node is in, and the next one. The first stage and a deprecation
// count for every Kubernetes release, because a newer kOps may have installed an older Kubernetes.
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

// variant returns the stages of the variant that the node has, or else those of the whole network.
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

// variant returns the network's name, with the variant that the stage belongs to.
func (n Network) variant(s Stage) string {
	if s.Of == "" {
		return n.Name
	}
	return n.Name + " with " + s.Of
}

// ends returns the release that removes the network.
func ends(s Stage) string {
	switch {
	case s.Kops != "":
		return "kOps " + s.Kops + ", and so with Kubernetes " + s.Kops
	case s.Kubernetes != "":
		return "Kubernetes " + s.Kubernetes
	}
	return ""
}

// removedIn returns the first Kubernetes release without the network.
func removedIn(l Lifecycle) string { return fmt.Sprintf("%d.%d", l.Last.Major, l.Last.Minor+1) }

func (l Lifecycle) instead() string { return cmp.Or(l.Instead, "another network") }
