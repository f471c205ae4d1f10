// Package pki makes certificate authorities and certificates for tests: ECDSA P-256, as PEM, in the
// form in which a state store has them.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	PEM string // its certificate

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its private key (PKCS #8), both as PEM.
type Pair struct{ Cert, Key string }

// New makes a root: an authority that signs its own certificate.
func New(t testing.TB, commonName string) *Authority {
	t.Helper()
	return newAuthority(t, commonName, nil)
}

// Below makes an authority whose certificate this authority signs.
func (a *Authority) Below(commonName string) *Authority {
	a.t.Helper()
	return newAuthority(a.t, commonName, a)
}

func newAuthority(t testing.TB, commonName string, above *Authority) *Authority {
	t.Helper()
	template := template(t, commonName)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	key := newKey(t)
	if above == nil {
		above = &Authority{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, above.cert, key.Public(), above.key)
	if err != nil {
		t.Fatalf("making an authority: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("making an authority: %v", err)
	}
	return &Authority{PEM: block("CERTIFICATE", der), t: t, cert: cert, key: key}
}

// Client issues a certificate by which a server identifies a client.
func (a *Authority) Client(commonName string, organizations ...string) Pair {
	a.t.Helper()
	template := template(a.t, commonName)
	template.Subject.Organization = organizations
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// Server issues a certificate for a server with these host names and IP addresses.
func (a *Authority) Server(commonName string, at ...string) Pair {
	a.t.Helper()
	return a.server(template(a.t, commonName), at)
}

// ExpiredServer issues a server's certificate that expired half an hour ago.
func (a *Authority) ExpiredServer(commonName string, at ...string) Pair {
	a.t.Helper()
	template := template(a.t, commonName)
	template.NotAfter = time.Now().Add(-30 * time.Minute)
	return a.server(template, at)
}

func (a *Authority) server(template *x509.Certificate, at []string) Pair {
	a.t.Helper()
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // etcd's gateway dials itself
	for _, name := range at {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.issue(template)
}

// Key is the authority's private key (PKCS #8, PEM), for a store whose nodes sign with it.
func (a *Authority) Key() string {
	a.t.Helper()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		a.t.Fatalf("writing a key: %v", err)
	}
	return block("PRIVATE KEY", pkcs8)
}

// Keyset is kOps' keyset.yaml with these pairs, whose ids count from 1.
func Keyset(primary string, pairs ...Pair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: kops.k8s.io/v1alpha2\nkind: Keyset\nmetadata: {name: x}\nspec:\n  primaryId: %q\n  type: Keypair\n  keys:\n", primary)
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for i, p := range pairs {
		fmt.Fprintf(&b, "  - {id: \"%d\", publicMaterial: %s, privateMaterial: %s}\n", i+1, encode(p.Cert), encode(p.Key))
	}
	return b.String()
}

func (a *Authority) issue(template *x509.Certificate) Pair {
	a.t.Helper()
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatalf("issuing a certificate: %v", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatalf("writing a key: %v", err)
	}
	return Pair{Cert: block("CERTIFICATE", der), Key: block("PRIVATE KEY", pkcs8)}
}

func template(t testing.TB, commonName string) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatalf("choosing a serial number: %v", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("making a key: %v", err)
	}
	return key
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
