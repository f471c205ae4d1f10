package desired

import (
	"bytes"
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// A certificate that was renewed in the store is no changed configuration: while a newer
// configuration waits, the one in force uses what is renewed in it (docs/adr/0016-update.md).

// Renew takes of a newer configuration the certificates that it renews.
func (d *State) Renew(newer map[string]model.Keypair) {
	for name, was := range d.Keypairs {
		if now, ok := newer[name]; ok && renewed(was, now) {
			d.Keypairs[name] = now
		}
	}
}

// RetainRenewed does not go back behind a certificate that the node has. For a configuration that
// is kept, and does not know of it. Where no certificate comes from the store the ledger is not
// decoded: that takes longer than a pass without changes.
func (d *State) RetainRenewed(r ledger.Reader, led *ledger.Ledger) {
	installs := func(p model.Keypair) bool { return !p.Key.IsZero() }
	if !slices.ContainsFunc(slices.Collect(maps.Values(d.Keypairs)), installs) {
		return
	}
	have := map[string]model.Keypair{}
	for _, e := range led.Entries() {
		if e.Task == nil || e.Task.Kind != tasks.KindCertificates || e.Released || e.Pending {
			continue
		}
		t, err := e.Rebuild(r)
		if set, ok := t.(tasks.CertificateSet); err == nil && ok && set.Source == "" {
			have[set.Name] = model.Keypair{CA: set.CA.PEM, Cert: set.Cert.PEM, Key: secret.Of(set.Key.PEM),
				Origin: d.Keypairs[set.Name].Origin}
		}
	}
	d.Renew(have)
}

// renewed says that a key pair is a younger one of the same CA, for the same names. Another CA, and
// other names, are a change like any other.
func renewed(was, now model.Keypair) bool {
	if !bytes.Equal(was.CA, now.CA) {
		return false
	}
	before, err := certs.Parse(was.Cert)
	if err != nil {
		return false
	}
	after, err := certs.Parse(now.Cert)
	if err != nil {
		return false
	}
	a, b := before[0], after[0]
	return !b.IsCA && b.NotBefore.After(a.NotBefore) && bytes.Equal(a.RawSubject, b.RawSubject) &&
		slices.Equal(certs.Names(a), certs.Names(b))
}
