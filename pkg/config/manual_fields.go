package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/values"
)

// NetworkFields returns the fields of a network, as the decoder knows them, or nil if no network
// has the name. The manual is generated from it.
func NetworkFields(name string) []decode.Description {
	n := &Node{origins: make(decode.Origins), KubernetesVersion: values.Version{Major: 1, Minor: 33}, Cluster: "CLUSTER"}
	at := "spec.networking." + name
	list, known := n.Networking.FieldsOf(name, &n.CNI)
	if !known {
		return nil
	}
	return n.describe(at, list)
}

// describe describes the fields under a path, with their defaults.
func (n *Node) describe(at string, list []decode.Field) []decode.Description {
	described := decode.Describe(at, list)
	n.fillDefaults()
	for i := range described {
		f := &described[i]
		f.Default = n.defaultOf(f.Path)
		f.Path = strings.ReplaceAll(strings.TrimPrefix(f.Path, at+"."), "[0]", "[]")
	}
	return described
}

// defaultOf returns the default that was filled in at a path, as a document may write it, or "" if
// there is none.
func (n *Node) defaultOf(path string) string {
	if _, filled := n.origins[path]; !filled {
		return ""
	}
	text, err := json.Marshal(n)
	var at any
	if err != nil || json.Unmarshal(text, &at) != nil {
		return ""
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "spec."), ".") {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	switch at := at.(type) {
	case nil:
		return ""
	case []any: // a document writes ranges with commas
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(at), "[]"), " ", ",")
	case map[string]any:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(at)) {
			pairs = append(pairs, fmt.Sprint(key, ": ", at[key]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	return fmt.Sprint(at)
}

// sharedFields are the fields of spec.networking that belong to no single network.
var sharedFields = [...]string{"bridgeNetfilter", "switch"}

// DocumentFields returns the fields under spec of a kind of document (Cluster, NodeGroup, Node). It
// leaves out the fields of single networks, which [NetworkFields] returns. It returns nil for
// another kind. kinds has the same meaning as for [Load]. The manual is generated from it.
func DocumentFields(kinds []string, kind string) []decode.Description {
	n := &Node{origins: make(decode.Origins), KubernetesVersion: values.Version{Major: 1, Minor: 33}}
	r := reader{node: n, dialect: &decode.Strict, kinds: kinds}
	var list []decode.Field
	switch kind {
	case decode.KindCluster:
		list = r.cluster()
	case decode.KindNodeGroup:
		list = r.group()
	case decode.KindNode:
		list = r.own()
	default:
		return nil
	}
	return slices.DeleteFunc(n.describe("spec", list), func(f decode.Description) bool {
		rest, networking := strings.CutPrefix(f.Path, "networking.")
		name, _, _ := strings.Cut(rest, ".")
		name, _, _ = strings.Cut(name, "[")
		return networking && !slices.Contains(sharedFields[:], name)
	})
}
