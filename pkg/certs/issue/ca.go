package issue

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// sign makes a key, and a certificate for it that a CA of the store signs.
func (i *issuing) sign(ctx context.Context, h *host.Host) error {
	name := i.entry.CA
	pair, ok := i.pairs[name]
	switch {
	case !ok || len(pair.Cert) == 0:
		return graph.Permanent(fmt.Errorf("the store has no CA %s: put pki/issued/%s/<id>.crt and "+
			"pki/private/%s/<id>.key there, or its keyset.yaml", name, name, name))
	case pair.Key.IsZero():
		return graph.Permanent(fmt.Errorf("the store has no private key of the CA %s, or this node may not read it: "+
			"put pki/private/%s/<id>.key there, or its keyset.yaml", name, name))
	}
	authority, err := certs.ParseAuthority(pair.Cert, pair.Key)
	if err != nil {
		return graph.Permanent(fmt.Errorf("the keyset %s cannot sign: %w", name, err))
	}
	r := i.request()
	key, err := certs.NewKey(r.Key)
	if err != nil {
		return err
	}
	cert, err := authority.Sign(r, key.Public(), i.now)
	if errors.Is(err, certs.ErrNotYet) {
		return graph.Wait(err.Error() + ": is the clock right?")
	}
	if err != nil {
		return graph.Permanent(err)
	}
	if trusted, err := certs.Parse(pair.CA); err != nil || certs.SignedBy(cert, trusted, authority.Chain...) == nil {
		return graph.Permanent(fmt.Errorf("the certificate chain of the keyset %[1]s (%[2]s) does not end at a CA "+
			"in pki/issued/%[1]s/ca.crt: put the root CA there, and the intermediate CAs into the file of %[2]s, "+
			"after its own certificate", name,
			certs.Subject(authority.Cert)))
	}
	text, err := certs.EncodeKey(key)
	if err != nil {
		return err
	}
	chain := certs.Encode(append([]*x509.Certificate{cert}, authority.Chain...)...)
	return i.save(ctx, h, &issued{CA: string(pair.CA), Cert: string(chain), Key: text})
}

// save saves the new certificate in place of the old one.
func (i *issuing) save(ctx context.Context, h *host.Host, s *issued) error {
	s.Name, s.Source, s.By, s.Request, s.Issued, s.Machine = i.entry.Name, i.entry.Source, i.by(), i.digest(),
		i.now.UTC().Truncate(time.Second), host.MachineID(i.files)
	if err := s.save(ctx, h); err != nil {
		return err
	}
	i.have = s
	return nil
}
