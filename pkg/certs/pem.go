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
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/secret"
)

// The PEM types that are written.
const (
	pemCertificate = "CERTIFICATE"
	pemRequest     = "CERTIFICATE REQUEST"
	pemKey         = "PRIVATE KEY"
)

// StripBOM is a PEM text without byte order marks, which some editors write. OpenSSL passes over
// one since 3.0; Go, and so most of what runs on a node, passes over the whole block behind it.
func StripBOM(text []byte) []byte {
	mark := []byte("\ufeff")
	if !bytes.Contains(text, mark) {
		return text
	}
	return bytes.ReplaceAll(text, mark, nil)
}

// Parse reads all certificates of a PEM text. There is at least one.
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

// ParseKey reads the private key of a PEM text. Its errors say nothing of the content.
func ParseKey(text secret.Text) (crypto.Signer, error) {
	if text.IsZero() { // that a store did not give it is said where it was asked
		return nil, errors.New("no private key was given: publish it, and let this node read it; where the store " +
			"refused it a warning says why")
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
			return nil, errors.New("the key is encrypted, and nobody is here to give its password: publish it without")
		default: // EC PARAMETERS and the like
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

// Encode writes certificates as PEM, in their order.
func Encode(all ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range all {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})...)
	}
	return out
}

// EncodeKey writes a private key as PEM (PKCS #8).
func EncodeKey(key crypto.Signer) (secret.Text, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return secret.Text{}, fmt.Errorf("write a private key: %w", err)
	}
	return secret.Of(pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})), nil
}

// Subject is whose a certificate is.
func Subject(c *x509.Certificate) string { return cmp.Or(c.Subject.String(), "no subject") }

// Names are the other names that a certificate is good for, addresses last.
func Names(c *x509.Certificate) []string {
	all := append([]string{}, c.DNSNames...)
	for _, a := range c.IPAddresses {
		all = append(all, a.String())
	}
	return all
}

// Describe says in one line whose a certificate is, and until when.
func Describe(c *x509.Certificate) string {
	return fmt.Sprintf("%s until %s, serial %.16s", Subject(c), c.NotAfter.UTC().Format(time.DateOnly),
		c.SerialNumber.Text(16))
}

// Pool holds certificates to verify with.
func Pool(all []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range all {
		p.AddCert(c)
	}
	return p
}

// SignedBy is the CA that signed a certificate: one of the roots, or one of those between that the
// roots vouch for, over others of them or not; nil if none did. Names and signatures decide, as for
// a peer, and no dates.
func SignedBy(c *x509.Certificate, roots []*x509.Certificate, between ...*x509.Certificate) *x509.Certificate {
	for _, ca := range roots {
		if bytes.Equal(c.RawIssuer, ca.RawSubject) && c.CheckSignatureFrom(ca) == nil {
			return ca
		}
	}
	for i, ca := range between {
		if SignedBy(ca, roots) != nil { // it is as good as a root
			return SignedBy(c, slices.Concat(roots, between[i:i+1]), slices.Concat(between[:i], between[i+1:])...)
		}
	}
	return nil
}

// Ago is a span of time as a person says it: "12 days", "3 hours", "40 seconds".
func Ago(d time.Duration) string {
	d = d.Abs()
	switch {
	case d >= 48*time.Hour:
		return count(int(d.Hours()/24), "day")
	case d >= 2*time.Hour:
		return count(int(d.Hours()), "hour")
	case d >= 2*time.Minute:
		return count(int(d.Minutes()), "minute")
	}
	return count(int(d.Seconds()), "second")
}

func count(n int, what string) string {
	return strings.TrimSuffix(fmt.Sprintf("%d %ss", n, what), map[bool]string{true: "s"}[n == 1])
}
