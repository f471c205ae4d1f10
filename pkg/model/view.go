package model

import (
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
)

// view is the input as a network sees it: what documents and discovery say, and the directories
// that the runtime really uses.
func view(in Input) network.Input {
	v := network.Input{Node: in.Node, Facts: in.Facts, Keypairs: in.Keypairs, Issued: in.Discovered.Issued,
		PodCIDRs: in.Node.PodCIDRs}
	if len(v.PodCIDRs) == 0 {
		v.PodCIDRs = values.CIDRs(in.Discovered.PodCIDRs)
	}
	v.Peers, v.NoPodCIDRs = peersOf(in), in.Discovered.NoPodCIDRs
	v.Routes = in.Discovered.Routes
	v.V4, v.V6 = families(v)
	v.BinDir, v.ConfDir = in.Node.CNI.BinDir, in.Node.CNI.ConfDir
	if dirs := othersDirs(in.Facts.Runtime); !v.DockerKubelet() {
		if dirs.ConfDir != "" && byDefault(in.Node, confDirPath) {
			v.ConfDir = dirs.ConfDir
		}
		if len(dirs.BinDirs) > 0 && byDefault(in.Node, binDirPath) && !slices.Contains(dirs.BinDirs, v.BinDir) {
			v.BinDir = dirs.BinDirs[0]
		}
		if byDefault(in.Node, binDirPath) || listsBinDirs(in.Facts.Runtime) {
			v.BinDirs = dirs.BinDirs
		}
	}
	if !slices.Contains(v.BinDirs, v.BinDir) {
		v.BinDirs = append([]string{v.BinDir}, v.BinDirs...)
	}
	return v
}

// othersDirs are the directories that a runtime has without a drop-in of ours: those that count
// where the documents say none.
func othersDirs(rt host.RuntimeFacts) facts.CNIDirs {
	if rt.ByOthers != nil {
		return *rt.ByOthers
	}
	return facts.CNIDirs{BinDirs: rt.BinDirs, ConfDir: rt.ConfDir}
}

// peersOf are the peers that documents name, and those that were discovered besides.
func peersOf(in Input) []networks.Peer {
	out := slices.Clone(in.Node.Peers)
	for _, p := range in.Discovered.Peers {
		if !slices.ContainsFunc(in.Node.Peers, func(said networks.Peer) bool { return said.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

// Paths of the documents that the model asks origins of.
const (
	binDirPath  = "spec.networking.cni.binDir"
	confDirPath = "spec.networking.cni.confDir"
)

// byDefault tells that no document said a value: then the runtime's own setting is followed.
func byDefault(n *config.Node, path string) bool { return n.Origin(path).IsDefault() }

// families says which families pods have, by the first that knows: the node's pod CIDRs, the
// cluster's, the services'; else IPv4.
func families(v network.Input) (v4, v6 bool) {
	for _, cidrs := range []values.CIDRs{v.PodCIDRs, v.Node.PodCIDR, v.Node.ServiceClusterIPRange} {
		if len(cidrs) > 0 {
			return cidrs.V4().IsValid(), cidrs.V6().IsValid()
		}
	}
	return true, false
}

// CNIDirs are the directories of confs and plugins that count on a node: those
// of the documents, or those of its runtime where no document says any. What
// adds pods looks where the tasks of [Build] put things.
func CNIDirs(n *config.Node, f *host.Facts) (confDir string, binDirs []string) {
	v := view(Input{Node: n, Facts: f})
	return v.ConfDir, v.BinDirs
}
