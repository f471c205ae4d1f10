package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/tasks"
)

// identity is a client certificate set that a network's parts show to a server (etcd, mostly).
type identity struct {
	network string // "calico"
	origin  string // who asked for it
	because string // "its etcd demands one"
	why     string // of the tasks
	server  string // that the CA checks: "etcd"

	keypair, caName string // in the store's pki
	ca              func(Keypair) []byte
	dir, commonName string
	CA, Cert, Key   tasks.CertFile // names and modes
}

// addIdentity installs one. It stays when the configuration no longer names it: the network's pods run on these files after the
// configuration forgot them, and to remove them is an outage.
func (b *Built) addIdentity(in Input, id identity) error {
	pair, ok := in.Keypairs[id.keypair]
	if !ok {
		return fmt.Errorf("install the client certificate of %s (%s): %s, and the store has no keypair %s: put pki/issued/%s/<id>.crt and pki/private/%s/<id>.key there, signed by %s",
			id.network, id.origin, id.because, id.keypair, id.keypair, id.keypair, id.caName)
	}
	id.CA.PEM, id.Cert.PEM, id.Key.PEM = id.ca(pair), pair.Cert, pair.Key
	if len(id.CA.PEM) == 0 {
		return fmt.Errorf("install the client certificate of %s (%s): the store has no CA %s to check %s with: put pki/issued/%s/<id>.crt there",
			id.network, id.origin, id.caName, id.server, id.caName)
	}
	meta := tasks.Meta{From: id.origin, Why: id.why}
	b.Tasks = append(b.Tasks,
		tasks.Directory{Meta: meta, Path: id.dir, Mode: 0o755},
		tasks.CertificateSet{Meta: secret(meta), Dir: id.dir, Owner: "root:root", CommonName: id.commonName, RetainOnRelease: true,
			CA: id.CA, Cert: id.Cert, Key: id.Key})
	return nil
}

// caOr is the store's CA of that name, else the one that signed the keypair.
func (in Input) caOr(name string) func(Keypair) []byte {
	return func(pair Keypair) []byte {
		if named, ok := in.Keypairs[name]; ok && len(named.CA) > 0 {
			return named.CA
		}
		return pair.CA
	}
}

func secret(m tasks.Meta) tasks.Meta {
	m.Secret = true
	return m
}
