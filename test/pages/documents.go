package pages

import (
	"strings"

	"github.com/netwright/netwright/pkg/config"
)

// Documents is the page of every field of the documents that is no network's own.
func Documents(meanings Meanings) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/config: `go test ./test/pages -update` writes it. -->")
	w.para("# Every field of the documents")
	w.para("Below `spec`; how the documents merge, with an example: [the documents](../documents.md). Below `spec.networking.<name>`: [each network's page](../networks/README.md), and [the switch](../documents.md#from-one-network-to-another). A `[]` is an entry of a list. The agent's own file, `/etc/netwright/agent.yaml`: [the command line](../command-line.md).")
	var group []config.Field
	common := map[string]bool{}
	for _, f := range config.DocumentFields(config.KindNode) {
		if has(config.DocumentFields(config.KindNodeGroup), f.Path) {
			common[f.Path] = true
			group = append(group, f)
		}
	}
	w.section("In each of them", group, meanings)
	for _, kind := range []struct{ name, title string }{
		{config.KindCluster, "In the Cluster alone"}, {config.KindNodeGroup, "In a NodeGroup alone"}, {config.KindNode, "In a Node alone"},
	} {
		var own []config.Field
		for _, f := range config.DocumentFields(kind.name) {
			if !common[f.Path] {
				own = append(own, f)
			}
		}
		w.section(kind.title, own, meanings)
	}
	return w.String()
}

func has(all []config.Field, path string) bool {
	for _, f := range all {
		if f.Path == path {
			return true
		}
	}
	return false
}

func (w *writer) section(title string, fields []config.Field, meanings Meanings) {
	w.para("## %s", title)
	var rows [][]string
	for _, f := range fields {
		rows = append(rows, []string{code(f.Path), f.Takes, code(f.Default), meanings.ofSpec(f.Path)})
	}
	w.table([]string{"field", "takes", "default", "what it is"}, rows)
}

// ofSpec is the meaning of a field of a document, by its path below spec; "" where it is that of a type that documents do not show.
func (m Meanings) ofSpec(path string) string {
	at := meaning{typ: "Node"}
	for name := range strings.SplitSeq(path, ".") {
		at = m[at.typ][strings.TrimSuffix(name, "[]")]
	}
	return at.words
}
