package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// NetworkFields lists the fields of a network, as the decoder knows them; nil when no network has
// the name. The manual is made of it.
func NetworkFields(name string) []Field {
	beside := choice{name: "multus", fields: func(d *decoder, w *Networking) []field { return allocate(&w.Multus).fields() }}
	for _, c := range append(choices(), beside) {
		if c.name != name {
			continue
		}
		n := &Node{origins: make(origins), KubernetesVersion: values.Version{Major: 1, Minor: 33}}
		d := &decoder{doc: newSpecDocument(document.Source{}), origins: make(origins), told: &[]Field{}}
		at := "spec.networking." + name
		if name == byoNetwork {
			n.Networking.CNI = &n.CNI
			d.mapping(&document.Value{}, at, n.CNI.fields())
		} else {
			d.mapping(&document.Value{}, at, c.fields(d, &n.Networking))
		}
		n.fillDefaults()
		for i := range *d.told {
			f := &(*d.told)[i]
			f.Default = n.defaultOf(f.Path)
			f.Path = strings.ReplaceAll(strings.TrimPrefix(f.Path, at+"."), "[0]", "[]")
		}
		return *d.told
	}
	return nil
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

// besideNetworks are the fields of spec.networking that belong to no single network.
var besideNetworks = [...]string{"bridgeNetfilter", "switch"}

// DocumentFields lists the fields below spec of a kind of document (Cluster, NodeGroup, Node),
// without those of single networks, which [NetworkFields] has; nil for another kind. Kinds are as
// of [Load]. The manual is made of it.
func DocumentFields(kinds []string, kind string) []Field {
	n := &Node{origins: make(origins), KubernetesVersion: values.Version{Major: 1, Minor: 33}}
	d := &decoder{doc: newSpecDocument(document.Source{}), origins: make(origins), kinds: kinds, told: &[]Field{}}
	switch kind {
	case KindCluster:
		d.mapping(&document.Value{}, "spec", d.clusterSpec(n))
	case KindNodeGroup:
		d.mapping(&document.Value{}, "spec", d.groupSpec(n))
	case KindNode:
		d.mapping(&document.Value{}, "spec", d.nodeSpec(n))
	default:
		return nil
	}
	n.fillDefaults()
	var out []Field
	for _, f := range *d.told {
		rest, networking := strings.CutPrefix(f.Path, "spec.networking.")
		name, _, _ := strings.Cut(rest, ".")
		name, _, _ = strings.Cut(name, "[")
		if networking && !slices.Contains(besideNetworks[:], name) {
			continue
		}
		f.Default = n.defaultOf(f.Path)
		f.Path = strings.ReplaceAll(strings.TrimPrefix(f.Path, "spec."), "[0]", "[]")
		out = append(out, f)
	}
	return out
}

// AgentFields lists the fields of the agent's own file. The manual is made of it.
func AgentFields() []Field {
	d := &decoder{doc: newSpecDocument(document.Source{}), origins: make(origins), told: &[]Field{}}
	d.mapping(&document.Value{}, "", (&AgentFile{}).fields())
	for i := range *d.told {
		f := &(*d.told)[i]
		switch f.Path {
		case "interval":
			f.Default = DefaultInterval.String()
		case "probeWindow":
			f.Default = DefaultProbeWindow.String()
		case "metrics":
			f.Default = DefaultMetrics
		case "nodeStatus":
			f.Default = On
		case "peers.port":
			f.Default = strconv.Itoa(DefaultPeersPort)
		}
	}
	return *d.told
}
