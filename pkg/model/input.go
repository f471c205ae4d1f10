// Package model turns a node's configuration into tasks. It is pure: it reads
// no file, opens no socket and asks nobody; the same input gives the same
// tasks. Golden tests pin its output.
package model

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// Input is all that the model knows.
type Input struct {
	Node       *config.Node
	Facts      *host.Facts
	Discovered Discovered
	// HandedOver is what the node stays prepared with for a network that goes on without us; nil:
	// none does.
	HandedOver *network.Preparation
	// Modes are those in which the node has had its network, with commas, by the ledger.
	Modes string
	// Assets is handed on to the archives, unread.
	Assets tasks.Fetcher
	// EC2 is handed on to the task that asks it, unread; nil: it does not ask.
	EC2 tasks.EC2
	// Keypairs are the issued certificates and private keys of the store, by name.
	Keypairs map[string]Keypair
}

// Discovered is what only time brings. What is absent makes tasks wait.
type Discovered struct {
	// PodCIDRs of this node, when no document names them.
	PodCIDRs []netip.Prefix
	// Issued are the certificates that were, or are to be, issued to this node, by name.
	Issued map[string]Issued
	// Peers are the other nodes, of a node whose pod CIDRs are discovered too. What documents say
	// of a peer wins.
	Peers []networks.Peer
	// NoPodCIDRs says why there are none, where they were looked for.
	NoPodCIDRs string
	// Routes is the route table of the node's subnet, where it is asked for.
	Routes network.RouteTable
}

// Keypair is a certificate with its key and the CA that signed it, PEM each.
type Keypair = network.Keypair

// Issued is how a certificate stands whose key is made on the node.
type Issued = network.Issued

// Note is something that a plan must say although no task does it.
type Note = network.Note
