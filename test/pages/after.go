package pages

import (
	"fmt"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/model/network"
)

// works says how to see that it does.
func (w *writer) works(n network.Network) {
	if n.Lifecycle.Gone != "" {
		return
	}
	w.para("## Does it work?")
	w.para("`agent --dry-run` lists what differs from the documents, and which program the agent waits for. `agent networks --found %s` lists the parts of the network on this node.", n.Name)
	var rows [][]string
	for _, s := range n.HealthChecks {
		switch {
		case s.URL != "":
			rows = append(rows, []string{s.Text, code("curl -f " + s.URL), s.When})
		case s.Table != "":
			rows = append(rows, []string{s.Text, code("nft list table " + s.Table), s.When})
		case s.Lease != "":
			rows = append(rows, []string{s.Text, code("ip address show " + strings.Fields(s.Lease)[0]), s.When})
		case s.Path != "":
			rows = append(rows, []string{s.Text, code("ls " + s.Path), s.When})
		case s.Master != "":
			rows = append(rows, []string{s.Text, code("ip -d link show master " + s.Master), s.When})
		case s.Link != "" && strings.ContainsAny(s.Link, "*?["):
			rows = append(rows, []string{s.Text, code("ip -d link | grep " + strings.Trim(s.Link, "*")), s.When})
		case s.Link != "":
			rows = append(rows, []string{s.Text, code("ip -d link show " + s.Link), s.When})
		}
	}
	w.table([]string{"sign of life", "see it", "when"}, rows)
	for _, u := range n.Untestable {
		words := "`agent verify --traffic` cannot judge it"
		if u.When != "" {
			words += " (" + u.When + ")"
		}
		w.para("%s: %s. Use instead: %s. ([source](%s))", words, u.Why, u.Instead, u.Source)
	}
}

// leaves lists marks by kind, and apart what only people can take away.
func (w *writer) leaves(n network.Network) {
	w.para("## What it leaves")
	others := n.Residue.Others
	n.Residue.Others = nil
	words := n.Residue.Describe()
	if len(words) == 0 && len(others) == 0 {
		w.para("The network leaves nothing of its own.")
		return
	}
	if len(words) > 0 {
		w.para("When the node switches to another network, the agent removes the items of this table. It finds each by its name and mark. It flushes nothing, and keeps an item that only looks similar. A `*` stands for any name. `of the pods` means an address within the cluster's pod CIDR.")
		var kinds []string
		of := map[string][]string{}
		for _, line := range words {
			kind, what := kindOf(line)
			if of[kind] == nil {
				kinds = append(kinds, kind)
			}
			of[kind] = append(of[kind], code(what))
		}
		var rows [][]string
		for _, kind := range kinds {
			rows = append(rows, []string{kind, strings.Join(of[kind], "<br>")})
		}
		w.table([]string{"what", "which"}, rows)
	}
	if len(n.Agents) > 0 {
		var names []string
		for _, a := range n.Agents {
			names = append(names, code(a))
		}
		w.para("The pods of the network must end first. While a pod with a container " + strings.Join(names, " or ") + " runs on the node, the agent removes nothing, because the pod would add it again.")
	}
	w.modes(n)
	w.stays(others)
}

// stays lists what only people can take away.
func (w *writer) stays(others []string) {
	if len(others) > 0 {
		w.para("The agent does not remove these items, because it cannot know which program owns them, or cannot reach them:")
		w.list(others)
	}
}

// modes says what each mode leaves to the next.
func (w *writer) modes(n network.Network) {
	if len(n.Modes) == 0 {
		return
	}
	w.para("When the documents choose another mode of the network, the agent removes what only the former mode has. It keeps what both modes have.")
	if n.ModeURL != "" {
		w.para("The agent looks for the items of every other mode. It removes nothing until `%s` says that the program runs in the mode of the documents. If the documents say that the program does not run, the agent removes all items when nothing answers there and no container %s runs.", n.ModeURL, codes(n.Agents, " or "))
	} else {
		w.para("The ledger has the modes in which the node was. The agent removes nothing until the new mode has something on the node that the former mode does not have. If the new mode never has such an item, `switch: {allow: true}` says that the new mode is in force.")
	}
	var rows [][]string
	for _, m := range n.Modes {
		var marks []string
		for _, words := range m.Residue.Describe() {
			marks = append(marks, code(words))
		}
		rows = append(rows, []string{code(m.Of), code(m.Name), strings.Join(marks, "<br>")})
	}
	w.table([]string{"of", "mode", "leaves"}, rows)
}

// kinds are the words that a line of Leftovers begins with, where they are more than one.
var kinds = []string{"eBPF program", "IPVS service", "iptables rule", "iptables chain", "nft table", "published port", "Open vSwitch", "eBPF pin", "renamed file"}

func kindOf(line string) (kind, what string) {
	for _, k := range kinds {
		if rest, ok := strings.CutPrefix(line, k+" "); ok {
			return k, rest
		}
	}
	kind, what, _ = strings.Cut(line, " ")
	return kind, what
}

// differs lists where kOps says one thing and does another.
func (w *writer) differs(all []network.Disagreement) {
	if len(all) == 0 {
		return
	}
	w.para("## Where kOps' documents and its code differ")
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{d.Says, fmt.Sprintf("%s ([source](%s))", d.But, d.Source), d.Here})
	}
	w.table([]string{"kOps' documents or code", "what the other says", "what Netwright does"}, rows)
}

// proved lists what tests show, golden plans among it, and what none does.
func (w *writer) proved(n network.Network, plans []string) {
	w.para("## What is proved")
	var items []string
	for _, p := range n.TestedBy {
		dir, test, _ := strings.Cut(p.Test, " ")
		items = append(items, fmt.Sprintf("%s: %s in [%s](../../%s)", sentence(p.Claim), code(test), dir, dir))
	}
	if len(plans) > 0 {
		var links []string
		for _, p := range plans {
			links = append(links, fmt.Sprintf("[%s](../../%s)", strings.TrimSuffix(path.Base(p), ".txtar"), p))
		}
		items = append(items, "Golden files have the plans and the errors of a node: "+strings.Join(links, ", "))
	}
	w.list(items)
	switch {
	case n.Untested != "":
		w.para("Not proved: %s.", strings.TrimSuffix(n.Untested, "."))
	case len(n.TestedBy) == 0:
		w.para("Not proved: that pods reach each other over it. No test runs the network's own parts.")
	}
}
