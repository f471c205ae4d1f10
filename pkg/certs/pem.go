package certs

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/secret"
)

// The PEM types that this package writes.
const (
	pemCertificate = "CERTIFICATE"
	pemRequest     = "CERTIFICATE REQUEST"
	pemKey         = "PRIVATE KEY"
)

// StripBOM removes byte order marks, which some editors write, from a PEM text. OpenSSL ignores a
// leading one since 3.0. Go, and so most programs on a node, ignores the PEM block that follows it.
func StripBOM(text []byte) []byte {
	mark := []byte("\ufeff")
	if !bytes.Contains(text, mark) {
		return text
	}
	return bytes.ReplaceAll(text, mark, nil)
}

// Parse parses all certificates of a PEM text. It is an error if there is none.
func Parse(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(StripBOM(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemCertificate {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: publish a certificate in PEM form", err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("no certificate in it: publish it in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	return all, nil
}

// ParseKey parses the private key of a PEM text. Its errors show nothing of the content.
func ParseKey(text secret.Text) (crypto.Signer, error) {
	if text.IsZero() { // the reason that the store gave no key was reported when it was read
		return nil, errors.New("no private key was given: publish the key, and let this node read it; if the store " +
			"refused to give it, a warning says why")
	}
	for block, rest := pem.Decode(StripBOM([]byte(text.Reveal()))); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case pemKey:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the key is encrypted, and the agent has no password for it: publish the key " +
				"without a password")
		default: // EC PARAMETERS, for example
			continue
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok || block.Headers["Proc-Type"] == "4,ENCRYPTED" {
			return nil, errors.New("the private key is damaged, encrypted or of an unknown kind: publish it in PEM " +
				"form, without a password")
		}
		return signer, nil
	}
	return nil, errors.New("no private key in it: publish it in PEM form (-----BEGIN PRIVATE KEY-----)")
}

// KeyMatches reports whether a key belongs to a certificate.
func KeyMatches(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// Encode encodes certificates in PEM, in their order.
func Encode(all ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range all {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})...)
	}
	return out
}

// EncodeKey encodes a private key in PEM (PKCS #8).
func EncodeKey(key crypto.Signer) (secret.Text, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return secret.Text{}, fmt.Errorf("write a private key: %w", err)
	}
	return secret.Of(pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})), nil
}

// Subject returns the subject of a certificate, or "no subject".
func Subject(c *x509.Certificate) string { return cmp.Or(c.Subject.String(), "no subject") }

// Names returns the subject alternative names of a certificate, addresses last.
func Names(c *x509.Certificate) []string {
	all := append([]string{}, c.DNSNames...)
	for _, a := range c.IPAddresses {
		all = append(all, a.String())
	}
	return all
}

// Describe returns one line with the subject, the end of validity and the serial number.
func Describe(c *x509.Certificate) string {
	return fmt.Sprintf("%s until %s, serial %.16s", Subject(c), c.NotAfter.UTC().Format(time.DateOnly),
		c.SerialNumber.Text(16))
}

// Pool returns a pool with the certificates.
func Pool(all []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range all {
		p.AddCert(c)
	}
	return p
}

// SignedBy returns the CA that signed a certificate, or nil. That is one of the roots, or one of
// the intermediate certificates that a root signed, directly or through others of them. It checks
// names and signatures as a TLS peer does, but no dates.
func SignedBy(c *x509.Certificate, roots []*x509.Certificate, between ...*x509.Certificate) *x509.Certificate {
	for _, ca := range roots {
		if bytes.Equal(c.RawIssuer, ca.RawSubject) && c.CheckSignatureFrom(ca) == nil {
			return ca
		}
	}
	for i, ca := range between {
		if SignedBy(ca, roots) != nil { // a root signed it, so it counts as one
			return SignedBy(c, slices.Concat(roots, between[i:i+1]), slices.Concat(between[:i], between[i+1:])...)
		}
	}
	return nil
}
