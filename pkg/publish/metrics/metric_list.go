package metrics

import (
	"strconv"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

const prefix = "netwright_"

// kind is a metric's type in Prometheus.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
)

// families are the metrics of a scrape. Times are absolute, so that a query can compute the age of
// something also while no scrape succeeds.
type families []*family

func (all *families) add(name, help string, kind kind, labels ...string) *family {
	f := &family{name: prefix + name, help: help, kind: kind, labels: labels}
	*all = append(*all, f)
	return f
}

func (all *families) gauge(name, help string, labels ...string) *family {
	return all.add(name, help, gauge, labels...)
}

func (all *families) counter(name, help string, labels ...string) *family {
	return all.add(name, help, counter, labels...)
}

// ofTasks adds the metrics of tasks and changes.
func (all *families) ofTasks(s *report.Status) {
	all.gauge("node_info", "Always 1: whose node this is, and its network.", "node", "cluster", "node_group",
		"network").
		put(1, s.Node, s.Cluster, s.NodeGroup, s.Network)
	states := all.gauge("node_state", "1 for the state that the node's network is in.", "state")
	for _, state := range []report.NodeState{
		report.NodeCritical, report.NodeFailing, report.NodeContested, report.NodeDrifted, report.NodePaused,
		report.NodeWaiting, report.NodeSilent, report.NodeConverged, report.NodeStarting,
	} {
		states.is(s.State == state, string(state))
	}
	up := all.gauge("service_up", "1 if what runs the node's pods works: the container runtime, kubelet.", "service")
	for i := range s.Services {
		up.is(s.Services[i].Works, s.Services[i].Name)
	}
	all.gauge("prepared", "1 once all that kubelet needs was right since the agent began.").is(s.Prepared)
	all.ofKinds(s)
	refused := all.gauge("refused_keys", "Wanted keys that are not made, by what refuses them.", "by")
	for _, by := range []report.Refusal{report.RefusedByRule, report.RefusedByBoot, report.RefusedByUnit} {
		n := 0
		for i := range s.Keys {
			if s.Keys[i].Refused == by {
				n++
			}
		}
		refused.put(float64(n), string(by))
	}
	all.counter("rollbacks_total", "Changes that were taken back as a whole.").put(float64(s.Totals.Rollbacks))
	undone := all.gauge("last_undo_timestamp_seconds", "When a change was last undone, by cause.",
		"cause")
	for _, u := range s.Undone {
		undone.at(u.At, string(u.Cause))
	}
	if p := s.Proof; p != nil {
		unproved := all.gauge("unproved",
			"1 for a kind of proof that the last change under a checkpoint does not have, 0 for one that it has.", "proof")
		for _, kind := range p.By {
			unproved.put(0, kind)
		}
		for _, kind := range p.Missing {
			unproved.put(1, kind)
		}
	}
	all.gauge("watching", "1 if a change is watched for what its hook does later.").is(s.Watched != nil)
	all.gauge("owed_effects", "Restarts and reloads that are still to be done.").put(float64(len(s.PendingEffects)))
	passes := all.counter("passes_total", "Passes by how they ended.", "result")
	passes.put(float64(s.Totals.Passes-s.Totals.Failed), "ok")
	passes.put(float64(s.Totals.Failed), "failed")
	if l := s.Last; l != nil {
		all.gauge("last_pass_timestamp_seconds", "When the last pass ended.").at(l.Began.Add(l.Took.Duration()))
		all.gauge("last_pass_failed", "1 if the last pass did not succeed.").is(l.Error != "")
	}
	all.gauge("pass_hangs", "1 while a pass, or other work of the agent, has not ended in time.").is(s.Hangs != nil)
	all.gauge("next_pass_timestamp_seconds", "When the next pass is due, if nothing wakes the agent before.").at(s.Next)
	wakes := all.counter("wakes_total", "What woke the agent between its passes, by source.", "source")
	for source, n := range s.Wakes {
		wakes.put(float64(n), source)
	}
}

// ofKinds adds the counts of tasks by kind.
func (all *families) ofKinds(s *report.Status) {
	tasks := all.gauge("tasks", "Tasks by kind of key and by how they stand.", "kind", "state")
	repairs := all.counter("repairs_total", "Keys that were brought back, by kind.", "kind")
	changes := all.counter("changes_total", "Keys that were changed on purpose, by kind.", "kind")
	for i := range s.Kinds {
		k := &s.Kinds[i]
		for state, n := range map[string]int{"right": k.Right, "waiting": k.Waiting, "failing": k.Failing,
			"skipped": k.Skipped, "not_here": k.NotApplicable, "contested": k.Contested, "drifted": k.Drifted} {
			tasks.put(float64(n), k.Kind, state)
		}
		repairs.put(float64(k.Repaired), k.Kind)
		changes.put(float64(k.Changed), k.Kind)
	}
}

// ofConfiguration adds the metrics of the documents, and of what keeps the node from applying them.
func (all *families) ofConfiguration(s *report.Status) {
	c := &s.Configuration
	all.gauge("configuration_generation", "The generation that is applied: 0 until one is.").put(float64(c.Generation))
	all.gauge("configuration_published_generation", "The newest generation that the store has.").generation(c.Published)
	all.gauge("configuration_wanted_generation", "The generation that the agent works towards.").generation(c.Wanted)
	all.gauge("configuration_applied_generation", "The generation with which a pass ended right last.").
		generation(c.Applied)
	if p := c.Published; p != nil {
		all.gauge("configuration_published_timestamp_seconds",
			"When the newest generation was published: the age of the configuration is time() less this.").at(p.At)
	}
	all.gauge("configuration_known_timestamp_seconds",
		"When it was last known that no newer configuration exists: its age is time() less this.").at(c.NewestAt())
	all.gauge("configuration_last_good", "1 if the store could not be used since the agent began, and the agent "+
		"uses its last good copy.").is(!c.LastGood.IsZero() && c.Checked.IsZero())
	all.gauge("configuration_error", "1 if the store, or what it has, cannot be used.").is(c.Error != "")
	all.gauge("store_silent", "1 if the store was not read for several intervals: the node goes on with what it has.").
		is(!c.Silent.IsZero())
	all.gauge("configuration_untrusted", "1 if what the store has is not signed by a trusted key, or is older than "+
		"what the node has seen.").
		is(c.Untrusted)
	all.gauge("configuration_pinned", "1 if the store has another configuration than the pin names, which the node has.").
		is(c.Pinned)
	all.gauge("configuration_expiry_timestamp_seconds", "When the configuration in force expires, if it says so.").
		at(c.Expires)
	// all classes are always there, because a series that comes and goes looks like a failed scrape
	waiting := all.gauge("configuration_waiting", "1 for the class of a newer configuration that is not applied yet.",
		"class")
	for _, class := range []string{"live", "reload", "restart", "drain", "replace"} {
		waiting.is(s.Waiting != nil && s.Waiting.Class == class, class)
	}
	all.gauge("held", "1 if the node does not follow the store.").is(s.Pinned != "")
	all.gauge("awaiting_boot", "Files and units that act at the next boot, and that no boot has proved yet.").
		put(float64(len(s.AwaitingBoot)))
	all.gauge("awaiting_boot_since_timestamp_seconds", "When the first of them was changed.").at(s.AwaitingBootSince)
	all.gauge("awaiting_confirmation", "1 if a change is undone unless somebody confirms it.").is(s.Awaits != nil)
	all.gauge("paused", "1 if the node is paused, so that nothing is changed.").is(s.Paused != nil)
	if p := s.Paused; p != nil {
		all.gauge("paused_until_timestamp_seconds", "When a pause ends by itself.").at(p.Until)
	}
}

// ofCertificates adds the metrics of the node's certificates.
func (all *families) ofCertificates(s *report.Status) {
	expiry := all.gauge("certificate_expiry_timestamp_seconds", "When a certificate on the node expires.", "name", "ca")
	renewal := all.gauge("certificate_renewal_timestamp_seconds", "When a certificate is to be renewed.", "name", "ca")
	problem := all.gauge("certificate_problem", "1 if something is wrong with a certificate.", "name", "ca")
	for _, c := range s.Certificates {
		ca := strconv.FormatBool(c.CA)
		expiry.at(c.NotAfter, c.Name, ca)
		renewal.at(c.RenewAt, c.Name, ca)
		problem.is(c.Problem != "", c.Name, ca)
	}
}

// is adds 1 for true and 0 for false.
func (f *family) is(so bool, labels ...string) {
	value := 0.0
	if so {
		value = 1
	}
	f.put(value, labels...)
}

// at adds a time by the wall clock as it is now; for the zero time it adds nothing.
func (f *family) at(t time.Time, labels ...string) {
	if !t.IsZero() {
		f.put(float64(report.ByClock(t).UnixNano())/float64(time.Second), labels...)
	}
}

// generation adds the number of a generation; for nil it adds nothing.
func (f *family) generation(g *report.Generation) {
	if g != nil {
		f.put(float64(g.Number))
	}
}
