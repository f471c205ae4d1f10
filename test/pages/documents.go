package pages

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/tasks"
)

// Documents is the page of every field of the documents that is no network's own.
func Documents(meanings Meanings) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/config: `go test ./test/pages -update` writes it. -->")
	w.para("# Every field of the documents")
	w.para("For whoever writes the documents. How they merge, with an example: [the documents](../documents.md). The fields of a network, below `spec.networking.<name>`: [its own page](../networks/README.md).")
	w.para("Every document has `apiVersion` (`netwright.dev/v1alpha1`, or kOps' own), `kind` and `metadata.name`; `metadata.labels` and `metadata.annotations` are accepted and not looked at. The tables are of what stands below `spec`.")
	w.list([]string{"`[]` is an entry of a list, `KIND:NAME` stands for a key of your own.",
		"What a field takes is said as the agent expects it, in the words of the error that any other value gets.",
		"Its default is what counts where no document says the field. Where there is none, the last column says what happens.",
		"A field that stands in several documents has the value of the most special one: Cluster, then NodeGroup, then Node."})
	w.section("The agent's own file", "AgentFile", agentfile.Fields(), meanings)
	w.para("`/etc/netwright/agent.yaml`, or the file of `--conf`. It says where the documents are, and nothing of what is in them. It may be missing; a flag of the same name wins ([the command line](../command-line.md)).")
	var group []decode.Description
	common := map[string]bool{}
	others := config.DocumentFields(tasks.DriftKinds(), decode.KindNodeGroup)
	for _, f := range config.DocumentFields(tasks.DriftKinds(), decode.KindNode) {
		if has(others, f.Path) {
			common[f.Path] = true
			group = append(group, f)
		}
	}
	w.section("In each of them", "Node", group, meanings)
	for _, kind := range []struct{ name, title string }{
		{decode.KindCluster, "In the Cluster alone"}, {decode.KindNodeGroup, "In a NodeGroup alone"}, {decode.KindNode, "In a Node alone"},
	} {
		var own []decode.Description
		for _, f := range config.DocumentFields(tasks.DriftKinds(), kind.name) {
			if !common[f.Path] {
				own = append(own, f)
			}
		}
		w.section(kind.title, "Node", own, meanings)
	}
	return w.String()
}

func has(all []decode.Description, path string) bool {
	for _, f := range all {
		if f.Path == path {
			return true
		}
	}
	return false
}

// section is a table of the fields of one Go type.
func (w *writer) section(title, root string, fields []decode.Description, meanings Meanings) {
	w.para("## %s", title)
	var rows [][]string
	for _, f := range fields {
		rows = append(rows, []string{code(f.Path), f.Takes, code(f.Default), meanings.of(root, f)})
	}
	w.table([]string{"field", "takes", "default", "what it does"}, rows)
}
