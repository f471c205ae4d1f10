// Lyft's plugins, pinned: a module of its own, so that the agent does not carry what it needs.
module github.com/netwright/netwright/test/plugins/modules/lyft

go 1.26.0

require (
	github.com/aws/aws-sdk-go v1.29.27 // indirect
	github.com/containernetworking/cni v0.7.1 // indirect
	github.com/containernetworking/plugins v0.8.5 // indirect
	github.com/coreos/go-iptables v0.4.5 // indirect
	github.com/docker/distribution v2.6.2+incompatible // indirect
	github.com/docker/docker v1.13.1 // indirect
	github.com/docker/go-connections v0.4.0 // indirect
	github.com/docker/go-units v0.3.3 // indirect
	github.com/j-keck/arping v0.0.0-20160618110441-2cf9dc699c56 // indirect
	github.com/jmespath/go-jmespath v0.0.0-20180206201540-c2b33e8439af // indirect
	github.com/lyft/cni-ipvlan-vpc-k8s v0.6.3 // indirect
	github.com/nightlyone/lockfile v0.0.0-20180618180623-0ad87eef1443 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/safchain/ethtool v0.0.0-20190326074333-42ed695e3de8 // indirect
	github.com/vishvananda/netlink v1.0.0 // indirect
	github.com/vishvananda/netns v0.0.0-20180720170159-13995c7128cc // indirect
	golang.org/x/net v0.0.0-20200202094626-16171245cfb2 // indirect
	golang.org/x/sys v0.0.0-20190616124812-15dcb6c0061f // indirect
)

tool (
	github.com/lyft/cni-ipvlan-vpc-k8s/plugin/ipam
	github.com/lyft/cni-ipvlan-vpc-k8s/plugin/ipvlan
	github.com/lyft/cni-ipvlan-vpc-k8s/plugin/unnumbered-ptp
)
