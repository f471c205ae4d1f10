package pages

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// Table is what `agent explain` knows of fields, a line each: its path, where it may stand, what it
// takes, its default and what it is, with a tab between.
func Table(meanings Meanings) string {
	var out strings.Builder
	rows := func(root, below, where string, fields []decode.Description) {
		for _, f := range fields {
			about := meanings.of(root, f)
			if f.Newer {
				about += ". An agent of an earlier release refuses the document"
			}
			out.WriteString(strings.Join([]string{below + f.Path, where, f.Takes, f.Default, about}, "\t") + "\n")
		}
	}
	rows("AgentFile", "", "the agent's own file", agentfile.Fields())
	kinds := []string{decode.KindCluster, decode.KindNodeGroup, decode.KindNode}
	in, all := map[string][]string{}, []decode.Description{}
	for _, kind := range kinds {
		for _, f := range config.DocumentFields(tasks.DriftKinds(), kind) {
			if in[f.Path] == nil {
				all = append(all, f)
			}
			in[f.Path] = append(in[f.Path], kind)
		}
	}
	for _, f := range all {
		rows("Node", "spec.", strings.Join(in[f.Path], ", "), []decode.Description{f})
	}
	for _, n := range network.All() {
		if n.Lifecycle.Gone != "" {
			continue
		}
		at, where := "spec.networking."+n.Name, strings.Join(kinds, ", ")
		about := n.Title + "; `agent networks " + n.Name + "` says what it does on a node"
		rows("", at, where, []decode.Description{{Takes: "a mapping", About: about}})
		rows(meanings["Networking"][n.Name].typ, at+".", where, config.NetworkFields(n.Name))
	}
	lines := strings.SplitAfter(out.String(), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}
