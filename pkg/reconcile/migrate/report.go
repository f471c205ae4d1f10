package migrate

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
)

// Failure returns the error of a pass whose switch was not made. It returns nil if the switch only
// needs time.
func (s *Switch) Failure() error {
	if s == nil || s.Waits {
		return nil
	}
	return s.Blocked
}

// Step returns the step that stands for a switch that waits.
func (s *Switch) Step() []report.Step {
	if s == nil || !s.Waits {
		return nil
	}
	var fetching *changes.FetchingError
	return []report.Step{{
		Key: "switch:" + s.From.Name + " → " + s.To.Name, State: report.Waits,
		Gate: changes.GateName(graph.AfterKubelet), Origin: s.meta("").From,
		Message: s.Blocked.Error(), Fetching: errors.As(s.Blocked, &fetching),
	}}
}

// Report returns the heading of a plan with a switch.
func (s *Switch) Report() *report.Switch {
	if s == nil {
		return nil
	}
	out := &report.Switch{
		From: s.From.Name, To: s.To.Name, Evidence: s.evidence, Kind: report.Disruptive, Reason: s.Reason,
		Allowed:    s.allowed,
		Generation: s.wanted.Snapshot.Generation,
		Removes:    []report.Left{}, Pods: []string{}, Notices: []string{}, Stays: s.From.Residue.Others,
	}
	if s.Safe {
		out.Kind = report.Safe
	}
	if s.Blocked != nil {
		out.Blocked = s.Blocked.Error()
	}
	if s.Waits {
		out.Blocked = "it waits for " + out.Blocked
	}
	if s.Stays {
		out.Order = []string{"nothing is removed; to have the former network removed, set " +
			"spec.networking.switch: {allow: true, from: " + s.Had.Name + "}"}
		return out
	}
	for _, f := range s.found {
		out.Removes = append(out.Removes, report.Left{Key: string(f.Key), Detail: f.Detail})
	}
	for _, p := range s.pods {
		out.Pods = append(out.Pods, p.String())
	}
	out.Notices, out.Order = out.Notice(), s.describe()
	return out
}

// describe returns the steps of the switch as text, in their order.
func (s *Switch) describe() []string {
	from, to := s.From.Name, s.To.Name
	out := []string{"what " + to + " needs besides links and conf goes in: plugins, modules, sysctls, files"}
	if s.unit != "" {
		if !s.Safe {
			out = append(out, "the node is cordoned, if the Kubernetes API allows it, until the end of the switch")
		}
		out = append(out, s.unit+" stops")
	}
	if len(s.pods) > 0 {
		out = append(out, fmt.Sprintf("the runtime removes the pods, while %s's conf and plugins are there", from))
	}
	out = append(out, fmt.Sprintf("what %s has in the kernel goes", from))
	if s.To.Conf.Writer == network.WriterNetwright {
		out = append(out, fmt.Sprintf("%s comes, its conf last; then %s's conf and files go", to, from))
	} else {
		writers := map[string]string{network.WriterDaemonSet: "its DaemonSet", network.WriterContainerd: "containerd"}
		out = append(out, fmt.Sprintf("%s's conf and files go; that of %s comes when %s writes it", from, to,
			cmp.Or(writers[s.To.Conf.Writer], "the one who installs it")))
	}
	if s.unit != "" {
		out = append(out, s.unit+" starts")
	}
	return append(out, "the node is probed; if it is cut off, or one of these steps failed, the whole switch "+
		"is undone")
}
