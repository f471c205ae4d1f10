package pages

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/tasks"
)

// Documents returns the page of every field of the documents, except the fields of a network.
func Documents(meanings Meanings) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/config: `go test ./test/pages -update` writes it. -->")
	w.para("# Every field of the documents")
	w.para("For people who write documents. [The documents](../documents.md) explains with an example how documents merge. The fields of a network, below `spec.networking.<name>`, are on [the network's own page](../networks/README.md).")
	w.para("Every document has `apiVersion` (`netwright.dev/v1alpha1`, or kOps' own), `kind` and `metadata.name`. The agent accepts `metadata.labels` and `metadata.annotations`, and ignores them. The tables list the fields below `spec`.")
	w.list([]string{"`[]` stands for an entry of a list. `KIND:NAME` stands for a key that you choose.",
		"The column `takes` says which values a field accepts. The error for any other value has the same words.",
		"The default counts if no document sets the field. If a field has no default, the last column says what happens.",
		"If several documents set a field, the most specific document wins: Node over NodeGroup, NodeGroup over Cluster.",
		newNote})
	w.section("The agent's own file", "AgentFile", agentfile.Fields(), meanings)
	w.para("This file is `/etc/netwright/agent.yaml`, or the file of `--conf`. It says where the documents are, and has no field of the documents. The file may be missing. A flag of the same name wins over a field ([the command line](../command-line.md)).")
	var group []decode.Description
	common := map[string]bool{}
	others := config.DocumentFields(tasks.DriftKinds(), decode.KindNodeGroup)
	for _, f := range config.DocumentFields(tasks.DriftKinds(), decode.KindNode) {
		if has(others, f.Path) {
			common[f.Path] = true
			group = append(group, f)
		}
	}
	w.section("In each of the three documents", "Node", group, meanings)
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
		rows = append(rows, []string{nameOf(f), f.Takes, code(f.Default), meanings.of(root, f)})
	}
	w.table([]string{"field", "takes", "default", "what it does"}, rows)
}
