// Package model turns a node's configuration into tasks. It is pure: it reads no file, opens no
// socket and calls no other program. The same input gives the same tasks. Golden tests pin its
// output.
//
// # Files
//
//   - what Build gets, and the order in which it adds tasks: input, network_input, build, builder
//   - what it refuses on this host, or warns of: host_requirements, host_warnings,
//     validate_pod_families
//   - the kernel: sysctl*, bridge_netfilter, modules, mounts
//   - the container runtime, its CNI conf and plugins: runtime, cni_conf, cni_plugin*, directories
//   - kubelet's flags and its drop-in: kubelet*
//   - the node's links: link_managers, aws_enis, ec2_source_dest_check
//   - files and hooks of the documents: user_*
//   - reloads and restarts; keys that belong to other node agents: effect_tasks, other_agents
//   - what reset, verify and alerts ask: pods_depend, health_checks, alert_consequence
package model

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// Input is everything that the model knows.
type Input struct {
	Node       *config.Node
	Facts      *host.Facts
	Discovered Discovered
	// HandedOver is the network that another owner runs now and for which the node stays prepared;
	// nil: there is none.
	HandedOver *network.Preparation
	// Modes are the modes in which the node has run its network so far, separated by commas. They
	// come from the ledger.
	Modes string
	// Assets fetches archives. The model passes it to the archive tasks and does not call it.
	Assets tasks.Fetcher
	// EC2 is the client of the EC2 API. The model passes it to the task that needs it and does not
	// call it. nil: the task does not ask EC2.
	EC2 tasks.EC2
	// Keypairs are the issued certificates and private keys of the store, by name.
	Keypairs map[string]Keypair
}

// Discovered is what the node learns only at run time. Where a value is missing, the tasks that
// need it wait.
type Discovered struct {
	// PodCIDRs are the pod CIDRs of this node, if no document names them.
	PodCIDRs []netip.Prefix
	// Issued are the certificates that were issued to this node, or are requested, by name.
	Issued map[string]Issued
	// Peers are the other nodes. They are discovered only where the node's pod CIDRs are
	// discovered too. A peer in the documents wins over a discovered peer of the same name.
	Peers []networks.Peer
	// NoPodCIDRs says why discovery found no pod CIDRs.
	NoPodCIDRs string
	// Routes is the route table of the node's subnet, if the network needs it.
	Routes network.RouteTable
}

// Keypair is a certificate, its private key and the CA that signed it, each in PEM.
type Keypair = network.Keypair

// Issued is the status of a certificate whose private key is made on the node.
type Issued = network.Issued

// Note is a message of the plan that belongs to no task.
type Note = network.Note
