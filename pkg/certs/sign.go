package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/netwright/netwright/pkg/secret"
)

// Authority is a CA that can sign.
type Authority struct {
	Cert *x509.Certificate
	// Chain are the certificates that a server or client must send behind each certificate of this
	// CA to a peer that trusts only the root: those of this CA and of the CAs above it. It is empty
	// for a root.
	Chain []*x509.Certificate
	key   crypto.Signer
}

// ErrNotYet is the error for a clock that is before the CA's validity. The clock or the CA is
// wrong. A later attempt may succeed.
var ErrNotYet = errors.New("the clock is before the start of the CA's validity")

// ParseAuthority parses a CA and its key. The CA is the first certificate of cert, the others are
// the CAs above it.
func ParseAuthority(cert []byte, key secret.Text) (*Authority, error) {
	all, err := Parse(cert)
	if err != nil {
		return nil, fmt.Errorf("read its certificate: %w", err)
	}
	signer, err := ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("read its key: %w", err)
	}
	a := &Authority{Cert: all[0], key: signer}
	for _, c := range all {
		if SignedBy(c, []*x509.Certificate{c}) == nil { // it is no root
			a.Chain = append(a.Chain, c)
		}
	}
	switch {
	case !a.Cert.IsCA:
		return nil, fmt.Errorf("%s is not a CA: name the keyset of the CA that signs", Subject(a.Cert))
	case a.Cert.KeyUsage != 0 && a.Cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, fmt.Errorf("%s may not sign certificates (its key usage lacks certSign): issue a CA that may",
			Subject(a.Cert))
	case !KeyMatches(a.key, a.Cert):
		return nil, fmt.Errorf("its private key does not belong to %s: publish the certificate and the key that "+
			"were made together", Subject(a.Cert))
	}
	return a, nil
}

// backdate is how long before now a certificate's validity begins, for servers whose clock is
// behind. It is at most a tenth of the lifetime.
const backdate = 5 * time.Minute

// Sign issues a certificate for a public key. The certificate expires no later than the CA. Sign
// may be called again, and each certificate has its own serial number.
func (a *Authority) Sign(r Request, public crypto.PublicKey, now time.Time) (*x509.Certificate, error) {
	switch {
	case now.Before(a.Cert.NotBefore):
		return nil, fmt.Errorf("%w: %s begins at %s", ErrNotYet, Subject(a.Cert),
			a.Cert.NotBefore.UTC().Format(time.DateTime))
	case now.After(a.Cert.NotAfter):
		return nil,
			fmt.Errorf("the CA %s ended on %s: put a new one into the store, or set the clock if it is wrong",
				Subject(a.Cert), a.Cert.NotAfter.UTC().Format(time.DateTime))
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose a serial number: %w", err)
	}
	names, addresses := r.sans()
	template := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: r.subject(), DNSNames: names, IPAddresses: addresses,
		NotBefore: now.Add(-min(backdate, r.Lifetime/10)), NotAfter: a.End(r, now),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: r.extended(), BasicConstraintsValid: true,
	}
	if template.NotBefore.Before(a.Cert.NotBefore) {
		template.NotBefore = a.Cert.NotBefore
	}
	if _, isRSA := public.(*rsa.PublicKey); isRSA {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %q: %w", r.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

// End returns when a certificate expires that is signed now.
func (a *Authority) End(r Request, now time.Time) time.Time {
	end := now.Add(r.Lifetime)
	if end.After(a.Cert.NotAfter) {
		end = a.Cert.NotAfter
	}
	return end.Truncate(time.Second)
}
