package model

import (
	"cmp"
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
)

// view returns the input as a network sees it: documents and discovery merged, and the CNI
// directories that the runtime really uses.
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
		switch rt := in.Facts.Runtime; {
		case byDefault(in.Node, confDirPath):
			v.ConfDir = cmp.Or(dirs.ConfDir, v.ConfDir)
		case readsOtherConfs(rt, v.ConfDir): // a conf elsewhere would leave the node without a network
			v.ConfDir = rt.ConfDir
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

// othersDirs returns the CNI directories that the runtime would have without our drop-in. They
// count where the documents name none.
func othersDirs(rt host.RuntimeFacts) facts.CNIDirs {
	if rt.ByOthers != nil {
		return *rt.ByOthers
	}
	return facts.CNIDirs{BinDirs: rt.BinDirs, ConfDir: rt.ConfDir}
}

// peersOf returns the peers of the documents, followed by discovered peers with other names.
func peersOf(in Input) []networks.Peer {
	out := slices.Clone(in.Node.Peers)
	for _, p := range in.Discovered.Peers {
		if !slices.ContainsFunc(in.Node.Peers, func(said networks.Peer) bool { return said.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

// The model asks for the origins of these paths of the documents.
const (
	binDirPath  = "spec.networking.cni.binDir"
	confDirPath = "spec.networking.cni.confDir"
)

// byDefault reports whether no document sets a value. Then the agent follows the runtime's own
// setting.
func byDefault(n *config.Node, path string) bool { return n.Origin(path).IsDefault() }

// families returns the IP families of pods. The first source that has ranges decides: the node's
// pod CIDRs, the cluster's pod CIDRs, the service range. Without any, the family is IPv4.
func families(v network.Input) (v4, v6 bool) {
	for _, cidrs := range []values.CIDRs{v.PodCIDRs, v.Node.PodCIDR, v.Node.ServiceClusterIPRange} {
		if len(cidrs) > 0 {
			return cidrs.V4().IsValid(), cidrs.V6().IsValid()
		}
	}
	return true, false
}

// CNIDirs returns the conf directory and the plugin directories of a node: those of the documents
// or, where no document names any, those of its runtime. Code that adds pods uses it to look where
// the tasks of [Build] put files.
func CNIDirs(n *config.Node, f *host.Facts) (confDir string, binDirs []string) {
	v := view(Input{Node: n, Facts: f})
	return v.ConfDir, v.BinDirs
}
