package network

import (
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
)

// Keypairs returns the keysets of the store's pki whose private keys this node uses: those that it
// installs, and the CAs that it signs with. The node needs no other private key.
func Keypairs(n *config.Node) (all []string) {
	add := func(name string) {
		if c := n.CertificateOf(name); (c == nil || !c.Issued()) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if n.Apart() {
		return nil
	}
	if c := n.Networking.Calico; c != nil && c.Etcd != nil && c.Etcd.TLS {
		add(c.Etcd.Certificates.Keypair)
	}
	if c := n.Networking.Cilium; c != nil && c.EtcdManaged {
		add(ciliumKeypair)
	}
	if c := n.Networking.Custom; c != nil {
		for _, one := range c.Certificates {
			add(one.Keypair)
		}
	}
	for i := range n.Certificates {
		add(n.Certificates[i].Name)
	}
	return append(all, Authorities(n)...)
}

// Authorities returns the keysets of the CAs that this node signs with. The caller reads their keys
// only when it needs them, and does not store them.
func Authorities(n *config.Node) (all []string) {
	for i := range n.Certificates {
		if c := &n.Certificates[i]; c.Source == extras.SourceCA && !slices.Contains(all, c.CA) {
			all = append(all, c.CA)
		}
	}
	return all
}
