package model

import (
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// pluginRelease is a release of the reference plugins whose hashes are known.
type pluginRelease struct {
	Since   values.Version // the first Kubernetes release that gets it
	Version string
	SHA256  map[string]string // by GOARCH
}

// pluginBase is the URL below which upstream publishes the releases.
const pluginBase = "https://github.com/containernetworking/plugins/releases/download/"

// pluginReleases lists which release a Kubernetes version gets if no document names one, newest
// first. It is the choice of kOps. Hashes from 0.9.1 on:
// https://github.com/kubernetes/kops/tree/268927e26409f861634e18f3632c9dd483c350cf/pkg/assets/assetdata
// (cni-*.yaml); 0.8.7: https://github.com/kubernetes/kubernetes/blob/v1.20.0/build/workspace.bzl.
// For older releases upstream published only SHA-1.
func pluginReleases() []pluginRelease {
	return []pluginRelease{
		{kubernetes(36), "v1.9.1", map[string]string{
			"amd64": "b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303",
			"arm64": "56171987d3947707c3563db2f4001bccaf50fd63468611b9f3cbecb1375ee7ec"}},
		{kubernetes(35), "v1.8.0", map[string]string{
			"amd64": "ab3bda535f9d90766cccc90d3dddb5482003dd744d7f22bcf98186bf8eea8be6",
			"arm64": "57ce466fc3b79db1f19b8f4c63e07a1112306efa53c94fe810a2150dd9e07ddb"}},
		{kubernetes(34), "v1.7.1", map[string]string{
			"amd64": "1a28a0506bfe5bcdc981caf1a49eeab7e72da8321f1119b7be85f22621013098",
			"arm64": "119fcb508d1ac2149e49a550752f9cd64d023a1d70e189b59c476e4d2bf7c497"}},
		{kubernetes(32), "v1.6.2", map[string]string{
			"amd64": "b8e811578fb66023f90d2e238d80cec3bdfca4b44049af74c374d4fae0f9c090",
			"arm64": "01e0e22acc7f7004e4588c1fe1871cc86d7ab562cd858e1761c4641d89ebfaa4"}},
		{kubernetes(31), "v1.5.1", map[string]string{
			"amd64": "77baa2f669980a82255ffa2f2717de823992480271ee778aa51a9c60ae89ff9b",
			"arm64": "c2a292714d0fad98a3491ae43df8ad58354b3c0bdf5d5a3e281777967c70fcff"}},
		{kubernetes(30), "v1.4.1", map[string]string{
			"amd64": "2a0ea7072d1806b8526489bcd3b4847a06ab010ee32ba3c3d4e5a3235d3eb138",
			"arm64": "56fe62d73942cffd8f119d2b8ecb6a062e85f529a3dbfc7aa5cd83c2c01929a7"}},
		{kubernetes(29), "v1.3.0", map[string]string{
			"amd64": "754a71ed60a4bd08726c3af705a7d55ee3df03122b12e389fdba4bea35d7dd7e",
			"arm64": "de7a666fd6ad83a228086bd55756db62ef335a193d1b143d910b69f079e30598"}},
		{kubernetes(27), "v1.2.0", map[string]string{
			"amd64": "f3a841324845ca6bf0d4091b4fc7f97e18a623172158b72fc3fdcdb9d42d2d37",
			"arm64": "525e2b62ba92a1b6f3dc9612449a84aa61652e680f7ebf4eff579795fe464b57"}},
		{kubernetes(22), "v0.9.1", map[string]string{
			"amd64": "962100bbc4baeaaa5748cdbfce941f756b1531c2eadb290129401498bfac21e7",
			"arm64": "ef17764ffd6cdcb16d76401bac1db6acc050c9b088f1be5efa0e094ea3b01df0"}},
		{kubernetes(15), "v0.8.7", map[string]string{
			"amd64": "977824932d5667c7a37aa6a3cbba40100a6873e7bd97e83e8be837e3e7afd0a8",
			"arm64": "ae13d7b5c05bd180ea9b5b68f44bdaa7bfb41034a2ef1d68fd8e1259797d642f"}},
	}
}

func kubernetes(minor int) values.Version { return values.Version{Major: 1, Minor: minor} }

// lyftRelease returns the release that kOps gave every Kubernetes version from 1.15 on.
// https://github.com/kubernetes/kops/blob/v1.18.0/upup/pkg/fi/cloudup/networking.go
func lyftRelease() pluginRelease {
	return pluginRelease{kubernetes(15), "v0.6.0", map[string]string{
		"amd64": "871757d381035f64020a523e7a3e139b6177b98eb7a61b547813ff25957fc566",
		"arm64": "3aadcb32ffda53990153790203eb72898e55a985207aa5b4451357f9862286f0"}}
}

func (r pluginRelease) url(name, arch string) string {
	if name == network.LyftPlugins {
		return "https://github.com/lyft/cni-ipvlan-vpc-k8s/releases/download/" + r.Version + "/cni-ipvlan-vpc-k8s-" +
			arch + "-" + r.Version + ".tar.gz"
	}
	return pluginBase + r.Version + "/cni-plugins-linux-" + arch + "-" + r.Version + ".tgz"
}

// releaseFor returns the release of an asset for a Kubernetes version, or nil if the table has
// none.
func releaseFor(name string, v values.Version) *pluginRelease {
	var known []pluginRelease
	switch name {
	case network.CNIPlugins:
		known = pluginReleases()
	case network.LyftPlugins:
		known = []pluginRelease{lyftRelease()}
	}
	for _, r := range known {
		if v.AtLeast(r.Since.Major, r.Since.Minor) {
			return &r
		}
	}
	return nil
}
