package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

const prefix = "netwright_"

// put is a value of a metric, with those of its labels.
type put func(value float64, labels ...string)

// metric is one that a status is shown by.
type metric struct {
	name, help string
	kind       kind
	labels     []string
	read       func(s *report.Status, put put)
}

// kind is a metric's type, as Prometheus calls it.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
)

// list are those that a status is shown by. Times are absolute, so that what reads them counts
// how old something is, also when no scrape succeeds.
func list() []metric { return slices.Concat(ofTasks(), ofConfiguration(), ofCertificates()) }

// ofTasks are those of tasks, and of what became of changes.
func ofTasks() []metric {
	return []metric{
		{"node_info", "Always 1: whose node this is, and its network.", gauge,
			[]string{"node", "cluster", "node_group", "network"}, func(s *report.Status, put put) {
				put(1, s.Node, s.Cluster, s.NodeGroup, s.Network)
			}},
		{"node_state", "1 for the state that the node's network is in.", gauge, []string{"state"}, nodeState},
		{"service_up", "1 if what runs the node's pods works: the container runtime, kubelet.", gauge,
			[]string{"service"}, func(s *report.Status, put put) {
				for i := range s.Services {
					put(one(s.Services[i].Works), s.Services[i].Name)
				}
			}},
		{"prepared", "1 once all that kubelet needs was right since the agent began.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Prepared)) }},
		{"tasks", "Tasks by kind of key and by how they stand.", gauge, []string{"kind", "state"}, tasks},
		{"repairs_total", "Keys that were brought back, by kind.", counter, []string{"kind"},
			func(s *report.Status, put put) {
				for i := range s.Kinds {
					put(float64(s.Kinds[i].Repaired), s.Kinds[i].Kind)
				}
			}},
		{"changes_total", "Keys that were changed on purpose, by kind.", counter, []string{"kind"},
			func(s *report.Status, put put) {
				for i := range s.Kinds {
					put(float64(s.Kinds[i].Changed), s.Kinds[i].Kind)
				}
			}},
		{"refused_keys", "Wanted keys that are not made, by what refuses them.", gauge, []string{"by"}, refused},
		{"rollbacks_total", "Changes that were taken back as a whole.", counter, nil,
			func(s *report.Status, put put) { put(float64(s.Totals.Rollbacks)) }},
		{"last_undo_timestamp_seconds", "When a change was last taken back, by whomever, by cause.", gauge,
			[]string{"cause"}, func(s *report.Status, put put) {
				for _, u := range s.Undone {
					moment(put, u.At, string(u.Cause))
				}
			}},
		{"unproved", "1 for a kind of proof that the last change under a checkpoint does not have, 0 for one that it " +
			"has.", gauge, []string{"proof"}, missingProofs},
		{"watching", "1 if a change is watched for what its hook does later.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Watched != nil)) }},
		{"owed_effects", "Restarts and reloads that are still to be done.", gauge, nil,
			func(s *report.Status, put put) { put(float64(len(s.PendingEffects))) }},

		{"passes_total", "Passes by how they ended.", counter, []string{"result"}, func(s *report.Status, put put) {
			put(float64(s.Totals.Passes-s.Totals.Failed), "ok")
			put(float64(s.Totals.Failed), "failed")
		}},
		{"last_pass_timestamp_seconds", "When the last pass ended.", gauge, nil, func(s *report.Status, put put) {
			if s.Last != nil {
				put(seconds(s.Last.Began.Add(s.Last.Took.Duration())))
			}
		}},
		{"last_pass_failed", "1 if the last pass did not succeed.", gauge, nil, func(s *report.Status, put put) {
			if s.Last != nil {
				put(one(s.Last.Error != ""))
			}
		}},
		{"next_pass_timestamp_seconds", "When the next pass is due, if nothing wakes the agent before.", gauge, nil,
			func(s *report.Status, put put) { moment(put, s.Next) }},
		{"wakes_total", "What woke the agent between its passes, by source.", counter, []string{"source"},
			func(s *report.Status, put put) {
				for source, n := range s.Wakes {
					put(float64(n), source)
				}
			}},
	}
}

// ofConfiguration are those of the documents, and of what keeps the node from them.
func ofConfiguration() []metric {
	return []metric{
		{"configuration_generation", "The generation that is applied: 0 until one is.", gauge, nil,
			func(s *report.Status, put put) { put(float64(s.Configuration.Generation)) }},
		{"configuration_published_generation", "The newest generation that the store has.", gauge, nil,
			func(s *report.Status, put put) { generation(put, s.Configuration.Published) }},
		{"configuration_wanted_generation", "The generation that the agent works towards.", gauge, nil,
			func(s *report.Status, put put) { generation(put, s.Configuration.Wanted) }},
		{"configuration_applied_generation", "The generation with which a pass ended right last.", gauge, nil,
			func(s *report.Status, put put) { generation(put, s.Configuration.Applied) }},
		{"configuration_published_timestamp_seconds",
			"When the newest generation was published: the age of the configuration is time() less this.", gauge, nil,
			func(s *report.Status, put put) {
				if p := s.Configuration.Published; p != nil {
					moment(put, p.At)
				}
			}},
		{"configuration_known_timestamp_seconds",
			"When it was last known that no newer configuration exists: its age is time() less this.", gauge, nil,
			func(s *report.Status, put put) { moment(put, s.Configuration.NewestAt()) }},
		{"configuration_last_good", "1 if the store could not be used since the agent began, which goes on from what " +
			"it kept.", gauge, nil, func(s *report.Status, put put) {
			put(one(!s.Configuration.LastGood.IsZero() && s.Configuration.Checked.IsZero()))
		}},
		{"configuration_error", "1 if the store, or what it has, cannot be used.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Configuration.Error != "")) }},
		{"store_silent", "1 if the store was not read for several intervals: the node goes on with what it has.", gauge,
			nil, func(s *report.Status, put put) { put(one(!s.Configuration.Silent.IsZero())) }},
		{"configuration_untrusted", "1 if what the store has is not signed by a trusted key, or goes back.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Configuration.Untrusted)) }},
		{"configuration_pinned", "1 if the store has another configuration than the pin names, which the node has.",
			gauge, nil, func(s *report.Status, put put) { put(one(s.Configuration.Pinned)) }},
		{"configuration_expiry_timestamp_seconds", "When the configuration in force expires, if it says so.", gauge,
			nil, func(s *report.Status, put put) { moment(put, s.Configuration.Expires) }},
		{"configuration_waiting", "1 for the class of a newer configuration that is not applied yet.", gauge,
			[]string{"class"}, waiting},
		{"held", "1 if the node does not follow the store.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Pinned != "")) }},
		{"awaiting_boot", "Files and units that act at the next boot, and that no boot has proved yet.", gauge, nil,
			func(s *report.Status, put put) { put(float64(len(s.AwaitingBoot))) }},
		{"awaiting_boot_since_timestamp_seconds", "When the first of them was changed.", gauge, nil,
			func(s *report.Status, put put) { moment(put, s.AwaitingBootSince) }},
		{"awaiting_confirmation", "1 if a change is undone unless somebody confirms it.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Awaits != nil)) }},
		{"paused", "1 if nothing is changed for a while.", gauge, nil,
			func(s *report.Status, put put) { put(one(s.Paused != nil)) }},
		{"paused_until_timestamp_seconds", "When a pause ends by itself.", gauge, nil, func(s *report.Status, put put) {
			if s.Paused != nil {
				moment(put, s.Paused.Until)
			}
		}},
	}
}

func ofCertificates() []metric {
	return []metric{
		{"certificate_expiry_timestamp_seconds", "When a certificate on the node expires.", gauge,
			[]string{"name", "ca"}, func(s *report.Status, put put) {
				for _, c := range s.Certificates {
					moment(put, c.NotAfter, c.Name, strconv.FormatBool(c.CA))
				}
			}},
		{"certificate_renewal_timestamp_seconds", "When a certificate is to be renewed.", gauge, []string{"name", "ca"},
			func(s *report.Status, put put) {
				for _, c := range s.Certificates {
					moment(put, c.RenewAt, c.Name, strconv.FormatBool(c.CA))
				}
			}},
		{"certificate_problem", "1 if something is wrong with a certificate.", gauge, []string{"name", "ca"},
			func(s *report.Status, put put) {
				for _, c := range s.Certificates {
					put(one(c.Problem != ""), c.Name, strconv.FormatBool(c.CA))
				}
			}},
	}
}

// generation puts one that is known.
func generation(put put, g *report.Generation) {
	if g != nil {
		put(float64(g.Number))
	}
}

func nodeState(s *report.Status, put put) {
	for _, state := range []report.NodeState{
		report.NodeCritical, report.NodeFailing, report.NodeContested, report.NodeDrifted, report.NodePaused,
		report.NodeWaiting, report.NodeSilent, report.NodeConverged, report.NodeStarting,
	} {
		put(one(s.State == state), string(state))
	}
}

func tasks(s *report.Status, put put) {
	for i := range s.Kinds {
		k := &s.Kinds[i]
		for _, of := range []struct {
			state string
			n     int
		}{
			{"right", k.Right}, {"waiting", k.Waiting}, {"failing", k.Failing}, {"skipped", k.Skipped},
			{"not_here", k.NotApplicable},
			{"contested", k.Contested}, {"drifted", k.Drifted},
		} {
			put(float64(of.n), k.Kind, of.state)
		}
	}
}

func refused(s *report.Status, put put) {
	for _, by := range []report.Refusal{report.RefusedByRule, report.RefusedByBoot, report.RefusedByUnit} {
		n := 0
		for i := range s.Keys {
			if s.Keys[i].Refused == by {
				n++
			}
		}
		put(float64(n), string(by))
	}
}

func missingProofs(s *report.Status, put put) {
	if s.Proof == nil {
		return
	}
	for _, kind := range s.Proof.By {
		put(0, kind)
	}
	for _, kind := range s.Proof.Missing {
		put(1, kind)
	}
}

// waiting has a series for each class all the time: one that comes and goes looks like a
// scrape that failed.
func waiting(s *report.Status, put put) {
	for _, class := range []string{"live", "reload", "restart", "drain", "replace"} {
		put(one(s.Waiting != nil && s.Waiting.Class == class), class)
	}
}

// moment puts a time, and nothing if there is none.
func moment(put put, t time.Time, labels ...string) {
	if !t.IsZero() {
		put(seconds(t), labels...)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Second) }

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
