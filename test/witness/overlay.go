package witness

// Overlay is the agent without one rule: edits of its files, which the compiler's flag -overlay
// puts in their place.
type Overlay struct {
	Name  string // "off", or that of the defect which the rule ended
	Rule  string
	Edits []Edit
}

// Edit replaces a text that a file has exactly once.
type Edit struct{ File, Old, New string }

// Off is the agent that takes no checkpoint at all.
var Off = Overlay{"off", "what is not proved harmless is made under a checkpoint", []Edit{
	{"pkg/reconcile/guard/guard.go", "return c.NotApplicable == \"\" && c.Proof == tasks.ProofNone",
		"return false && c.Proof == tasks.ProofNone"},
}}

// Overlays are the rules that generated documents must find missing.
var Overlays = []Overlay{
	{"S1-1", "the next hops of new default routes must resolve", []Edit{
		{"pkg/checkpoint/probe/comparison.go", "hops, err := newHops(ctx, c.Node.Host, c.Probes)",
			"hops, err := []Probe(nil), error(nil)"},
	}},
	{"S1-2", "of each port that peers reached, one of them must reach it", []Edit{
		{"pkg/checkpoint/probe/inbound.go", "if len(c.Inbound) == 0 {", "if true {"},
	}},
	{"S1-3", "a hook is never harmless", []Edit{
		{"pkg/tasks/harmless.go", "return !read && kinds[t.row()]", "return Anew(t) || !read && kinds[t.row()]"},
		{"pkg/tasks/harmless.go", "return t.Action == ActionDaemonReload || runtimeUnits[t.Unit]",
			"return true"},
	}},
	{"S1-4", "a sysctl is harmless by key and range only", []Edit{
		{"pkg/tasks/harmless_sysctl.go", "if !inRange(key, value, have) {", "if false {"},
	}},
	{"S1-5", "what acts at the next boot awaits it", []Edit{
		{"pkg/checkpoint/arm.go", "if len(c.change.AtBoot) == 0 {", "if true {"},
	}},
	{"S1-6", "who manages a link goes on doing so, also after an undo", []Edit{
		{"pkg/checkpoint/probe/link_managers.go", `if l.Manager != "" && mine {`, "if false && mine {"},
		{"pkg/checkpoint/undo/restore_units.go", "if !tasks.NetworkUnit(unit) {",
			"if true || !tasks.NetworkUnit(unit) {"},
	}},
	{"S1-7", "that the undo can be run is tried before the change", []Edit{
		{"pkg/checkpoint/rehearse.go", "if err == nil || errors.Is(err, host.ErrNoLiveState) {",
			"if true {"},
	}},
	{"S1-8", "one of new name servers must answer", []Edit{
		{"pkg/checkpoint/probe/comparison.go", "return append(failed, c.newServers(ctx)...)",
			"return failed"},
	}},
	{"S1-9", "a family that a link carries is not lost, with a default route or without", []Edit{
		{"pkg/checkpoint/probe/comparison.go",
			"c.addNeighbours(groups, hops, silent.probes())", "_ = hops"},
		{"pkg/checkpoint/probe/comparison.go", "probes = append(probes, around.ownAddresses()...)", ""},
	}},
}
