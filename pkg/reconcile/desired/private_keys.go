package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/keypairs"
)

// fetchKeys reads the private keys that the node uses and drops all others: a directory store
// gives all keys. A keyset that cannot be read is no error here. The task that needs it reports
// that it is missing.
func (d *State) fetchKeys() error {
	wanted := network.Keypairs(d.Node)
	for _, name := range wanted {
		err := d.Snapshot.FetchKeys(name)
		if graph.IsTransient(err) {
			return fmt.Errorf("fetch the private key of %s: %w", name, err)
		}
		if err != nil {
			d.Damage = append(d.Damage, err.Error())
		}
	}
	pairs, err := keypairs.Of(d.Snapshot.Objects)
	if err != nil {
		d.Damage = append(d.Damage, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[name]
		if !slices.Contains(wanted, name) {
			d.misplaced(name, p)
			p.Key = secret.Text{}
		}
		d.Keypairs[name] = model.Keypair(p)
	}
	return nil
}

// misplaced drops a CA's private key that a store gives to a worker, and records an error that
// names the file. This does not stop the network of the node: only a person can remove the key
// from the store.
func (d *State) misplaced(name string, p keypairs.Keypair) {
	if p.Key.IsZero() || d.Node.ControlPlane() {
		return
	}
	if chain, err := certs.Parse(p.Cert); err != nil || !chain[0].IsCA {
		return
	}
	dir := "pki/private/" + name + "/"
	files := slices.DeleteFunc(slices.Sorted(maps.Keys(d.Snapshot.Objects)),
		func(object string) bool { return !strings.HasPrefix(object, dir) })
	d.Refused = append(d.Refused, fmt.Sprintf("the private key of the CA %s is refused, and not used: this "+
		"node's role is %s, and every user who reads %s of %s here can sign for the whole cluster; move the "+
		"key where workers cannot read it, and replace the CA; the rest of the node goes on", name, d.Node.Role,
		strings.Join(files, ", "), d.Snapshot.Origin))
}

// Retained returns the objects of a snapshot that the node keeps for the time when the store is
// away. Of the private keys it keeps only those that the node installs. A CA key with which the
// node signs is read from the store each time.
func (d *State) Retained() secret.Contents {
	objects := maps.Clone(d.Snapshot.Objects)
	wanted, authorities := network.Keypairs(d.Node), network.Authorities(d.Node)
	maps.DeleteFunc(objects, func(name string, _ []byte) bool {
		rest, private := strings.CutPrefix(name, "pki/private/")
		keyset, _, _ := strings.Cut(rest, "/")
		return private && (!slices.Contains(wanted, keyset) || slices.Contains(authorities, keyset))
	})
	return objects
}
