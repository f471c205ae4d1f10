package tasks

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// check says whether the set fits together at a time, and returns that certificate of it which ends first.
func (t CertificateSet) check(now time.Time) (*x509.Certificate, error) {
	roots, err := certificates(t.CA)
	if err != nil {
		return nil, err
	}
	chain, err := certificates(t.Cert)
	if err != nil {
		return nil, err
	}
	leaf := chain[0]
	key, err := privateKey(t.Key)
	if err != nil {
		return nil, err
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(leaf.PublicKey) {
		return nil, fmt.Errorf("%s is not the key of %s (%s): publish the pair that was issued together", t.Key.Name, t.Cert.Name, subject(leaf))
	}
	if t.CommonName != "" && leaf.Subject.CommonName != t.CommonName {
		return nil, fmt.Errorf("%s has the common name %q, wanted %q: issue it with that name, or correct the configuration", t.Cert.Name, leaf.Subject.CommonName, t.CommonName)
	}
	if err := t.checkDates(leaf, now); err != nil {
		return nil, err
	}
	if err := t.checkChain(leaf, chain[1:], roots, now); err != nil {
		return nil, err
	}
	ends := leaf
	for _, ca := range roots {
		if ca.NotAfter.Before(ends.NotAfter) && now.Before(ca.NotAfter) {
			ends = ca
		}
	}
	return ends, nil
}

func (t CertificateSet) checkDates(leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) {
		return graph.Wait(fmt.Sprintf("the clock (%s) to reach %s, from when %s (%s) is valid: is the clock right?",
			now.UTC().Format(time.DateTime), leaf.NotBefore.UTC().Format(time.DateTime), t.Cert.Name, subject(leaf)))
	}
	if now.After(leaf.NotAfter) && !t.AllowExpired {
		return fmt.Errorf("%s (%s) expired on %s: issue a new one and publish it, or set the clock if it is wrong (now %s)",
			t.Cert.Name, subject(leaf), leaf.NotAfter.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime))
	}
	return nil
}

// checkChain asks whether a server that trusts the CA would take the certificate from a client.
func (t CertificateSet) checkChain(leaf *x509.Certificate, between, roots []*x509.Certificate, now time.Time) error {
	if t.AllowExpired && now.After(leaf.NotAfter) {
		now = leaf.NotAfter
	}
	opt := x509.VerifyOptions{Roots: pool(roots), Intermediates: pool(between), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	_, err := leaf.Verify(opt)
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return fmt.Errorf("%s (%s) is not for clients: issue it with the extended key usage clientAuth: %w", t.Cert.Name, subject(leaf), err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%s is signed by a CA that is not valid now (%s): renew the CA, then the certificate: %w", t.Cert.Name, describeCert(roots[0]), err)
	}
	return fmt.Errorf("%s (%s, issued by %s) is not signed by the CA in %s (%s): publish the CA that signed it: %w",
		t.Cert.Name, subject(leaf), leaf.Issuer, t.CA.Name, subject(roots[0]), err)
}

func pool(certs []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}

// certificates reads all certificates of a PEM file. There is at least one.
func certificates(f CertFile) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for rest := f.PEM; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w: publish a certificate in PEM form", f.Name, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: no certificate in it: publish it in PEM form (-----BEGIN CERTIFICATE-----)", f.Name)
	}
	return all, nil
}

// privateKey reads the key of a PEM file. Its errors say nothing of the content.
func privateKey(f CertFile) (crypto.Signer, error) {
	for rest := f.PEM; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("read %s: no private key in it: publish it in PEM form (-----BEGIN PRIVATE KEY-----)", f.Name)
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, fmt.Errorf("read %s: the key is encrypted, and nobody is here to give its password: publish it without", f.Name)
		default: // EC PARAMETERS and the like
			continue
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok || block.Headers["Proc-Type"] == "4,ENCRYPTED" {
			return nil, fmt.Errorf("read %s: the private key is damaged, encrypted or of an unknown kind: publish it in PEM form, without a password", f.Name)
		}
		return signer, nil
	}
}

// describePEM says which certificate a file has: whose, and until when.
func describePEM(text []byte) string {
	certs, err := certificates(CertFile{PEM: text})
	if err != nil {
		return "none"
	}
	return describeCert(certs[0])
}

func describeCert(c *x509.Certificate) string {
	return fmt.Sprintf("%s until %s, serial %.16s", subject(c), c.NotAfter.UTC().Format(time.DateOnly), c.SerialNumber.Text(16))
}

func subject(c *x509.Certificate) string {
	if s := c.Subject.String(); s != "" {
		return s
	}
	return "no subject"
}
