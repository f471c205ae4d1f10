package issue

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
)

// reason says why one must be issued; "" if it need not.
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
		return "its key was made on another machine, from whose disk this one comes"
	}
	if i.entry.Source == extras.SourceCA {
		if why, decided := i.reasonByCA(life); decided {
			return why
		}
	}
	if all, _ := certs.Parse([]byte(i.have.Cert)); lostItsCA(all, i.have.FirstCA, i.have.CA) { // its life was read
		return "the API's servers do not trust the CA any more that signed it"
	}
	switch state := life.StateAt(i.now); {
	case state == certs.Expired:
		return "it expired on " + Date(life.NotAfter)
	case state != certs.NotYet && !i.now.Before(life.RenewAt):
		return "its renewal is due since " + Date(life.RenewAt)
	}
	return "" // one that is not valid yet was issued by the clock of the API: ours is behind
}

// reasonByCA decides by what the CA of the store is now. A CA that is not there decides nothing:
// what it signed is good.
func (i *issuing) reasonByCA(life certs.Validity) (why string, decided bool) {
	trusted, err := certs.Parse(i.pairs[i.entry.CA].CA)
	if err != nil {
		return "", false
	}
	all, _ := certs.Parse([]byte(i.have.Cert)) // life read it
	next := i.issuer()
	switch signer := certs.SignedBy(all[0], trusted, all[1:]...); {
	case signer == nil:
		return fmt.Sprintf("the CA %s that signed it is not trusted any more", i.entry.CA), true
	case life.StateAt(i.now) == certs.NotYet && i.now.After(signer.NotBefore):
		return "it was issued while the clock was ahead", true
	case certs.SignedBy(all[0], next) != nil && !life.NotAfter.Before(next[0].NotAfter) && i.now.Before(life.NotAfter):
		return "", true // it lives as long as the CA: another one would not live longer
	}
	return "", false
}

// lostItsCA says that the API's servers, whose CAs were first and are present, do not have the CA
// any more that signed a chain. A certificate of a signer that is not Kubernetes' own loses
// nothing: the servers never had that CA.
func lostItsCA(all []*x509.Certificate, first, present string) bool {
	was, err := certs.Parse([]byte(first))
	now, unread := certs.Parse([]byte(present))
	if err != nil || unread != nil {
		return false
	}
	return certs.SignedBy(all[0], was, all[1:]...) != nil && certs.SignedBy(all[0], now, all[1:]...) == nil
}

// issuer is the CA that would sign now; none where it cannot be read.
func (i *issuing) issuer() []*x509.Certificate {
	all, err := certs.Parse(i.pairs[i.entry.CA].Cert)
	if err != nil {
		return nil
	}
	return all[:1]
}

// superseded says that the CA has another certificate than the one that signed, and both are
// trusted.
func (i *issuing) superseded() bool {
	if i.have == nil || i.have.Cert == "" || i.entry.Source != extras.SourceCA {
		return false
	}
	all, err := certs.Parse([]byte(i.have.Cert))
	next := i.issuer()
	return err == nil && len(next) > 0 && certs.SignedBy(all[0], next) == nil
}

// again is when to look at it again; zero: whenever.
func (i *issuing) again() time.Time {
	if i.have == nil {
		return time.Time{}
	}
	if p := i.have.Pending; p != nil { // soon at first: who approves is mostly a program
		waited := i.now.Sub(p.Since).Abs() // a clock may have been set back since
		return i.now.Add(min(max(pendingLook, waited/10), pendingMost))
	}
	life, err := i.have.validity(i.node)
	if err != nil || !i.now.Before(life.RenewAt) {
		return time.Time{}
	}
	return life.RenewAt
}

// The first and the longest pause before a request is looked at again. The controller manager takes
// an approved one away after an hour (pkg/controller/certificates/cleaner, approvedExpiration).
const (
	pendingLook = 2 * time.Second
	pendingMost = 10 * time.Minute
)
