package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/values"
)

// NetworkFields lists the fields of a network, as the decoder knows them; nil when no network has
// the name. The manual is made of it.
func NetworkFields(name string) []decode.Description {
	n := &Node{origins: make(decode.Origins), KubernetesVersion: values.Version{Major: 1, Minor: 33}}
	at := "spec.networking." + name
	list, known := n.Networking.FieldsOf(name, &n.CNI)
	if !known {
		return nil
	}
	return n.describe(at, list)
}

// describe describes fields at a path, with what is filled in.
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

// defaultOf is the value that was filled in at a path; "" when none was.
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
	if at == nil {
		return ""
	}
	return strings.Trim(fmt.Sprint(at), "[]")
}

// sharedFields are the fields of spec.networking that belong to no single network.
var sharedFields = [...]string{"bridgeNetfilter", "switch"}

// DocumentFields lists the fields below spec of a kind of document (Cluster, NodeGroup, Node),
// without those of single networks, which [NetworkFields] has; nil for another kind. Kinds are as
// of [Load]. The manual is made of it.
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
