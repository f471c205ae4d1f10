package issue

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
)

// reason returns why a certificate must be issued, or "" if it need not be.
func (i *issuing) reason() string {
	if i.have == nil || i.have.Cert == "" {
		return "there is none yet"
	}
	life, err := i.have.validity(i.node)
	if err != nil {
		return err.Error()
	}
	if i.have.Request != i.digest() {
		return "the documents ask for another"
	}
	if host.IsOtherMachine(i.files, i.have.Machine) {
		return "its key was made on another machine: this disk is a copy of that machine's disk"
	}
	if i.entry.Source == extras.SourceCA {
		if why, decided := i.reasonByCA(life); decided {
			return why
		}
	}
	// validity has parsed it
	if all, _ := certs.Parse([]byte(i.have.Cert)); lostItsCA(all, i.have.FirstCA, i.have.CA) {
		return "the API servers no longer trust the CA that signed it"
	}
	switch state := life.StateAt(i.now); {
	case state == certs.Expired:
		return "it expired on " + Date(life.NotAfter)
	case state != certs.NotYet && !i.now.Before(life.RenewAt):
		return "its renewal is due since " + Date(life.RenewAt)
	}
	return "" // NotYet: the API issued it by its clock, and the clock of this node is behind
}

// reasonByCA decides by the CA that the store has now. If the store has no CA, it decides nothing,
// and the certificate stays.
func (i *issuing) reasonByCA(life certs.Validity) (why string, decided bool) {
	trusted, err := certs.Parse(i.pairs[i.entry.CA].CA)
	if err != nil {
		return "", false
	}
	all, _ := certs.Parse([]byte(i.have.Cert)) // validity has parsed it
	next := i.issuer()
	switch signer := certs.SignedBy(all[0], trusted, all[1:]...); {
	case signer == nil:
		return fmt.Sprintf("the CA %s that signed it is not trusted any more", i.entry.CA), true
	case life.StateAt(i.now) == certs.NotYet && i.now.After(signer.NotBefore):
		return "it was issued while the clock was ahead", true
	case certs.SignedBy(all[0], next) != nil && !life.NotAfter.Before(next[0].NotAfter) && i.now.Before(life.NotAfter):
		return "", true // it expires with the CA, so that a new certificate would not be valid any longer
	}
	return "", false
}

// lostItsCA reports whether the API servers no longer have the CA that signed a chain. first and
// present are their CAs when it was issued and now. It returns false for a certificate of a signer
// that is not Kubernetes' own, because the API servers never had that CA.
func lostItsCA(all []*x509.Certificate, first, present string) bool {
	was, err := certs.Parse([]byte(first))
	now, unread := certs.Parse([]byte(present))
	if err != nil || unread != nil {
		return false
	}
	return certs.SignedBy(all[0], was, all[1:]...) != nil && certs.SignedBy(all[0], now, all[1:]...) == nil
}

// issuer returns the CA that would sign now; nil if it cannot be read.
func (i *issuing) issuer() []*x509.Certificate {
	all, err := certs.Parse(i.pairs[i.entry.CA].Cert)
	if err != nil {
		return nil
	}
	return all[:1]
}

// superseded reports whether the CA now has another certificate than the one that signed.
func (i *issuing) superseded() bool {
	if i.have == nil || i.have.Cert == "" || i.entry.Source != extras.SourceCA {
		return false
	}
	all, err := certs.Parse([]byte(i.have.Cert))
	next := i.issuer()
	return err == nil && len(next) > 0 && certs.SignedBy(all[0], next) == nil
}

// nextLook returns when a pass should look at the certificate again; zero for no special time.
func (i *issuing) nextLook() time.Time {
	if i.have == nil {
		return time.Time{}
	}
	if p := i.have.Pending; p != nil {
		return p.nextLook(i.now)
	}
	life, err := i.have.validity(i.node)
	if err != nil || !i.now.Before(life.RenewAt) {
		return time.Time{}
	}
	return life.RenewAt
}
