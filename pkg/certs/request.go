package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// The kinds of keys. ECDSA has the curve P-256, RSA has 2048 bits.
const (
	ECDSA   = "ecdsa"
	RSA     = "rsa"
	Ed25519 = "ed25519"
)

// The extended key usages of a certificate.
const (
	Client = "client"
	Server = "server"
)

// Request is the content of a certificate request.
type Request struct {
	CommonName    string        `json:"commonName"`
	Organizations []string      `json:"organizations,omitempty"`
	Names         []string      `json:"names,omitempty"`    // host names and IP addresses
	Usages        []string      `json:"usages,omitempty"`   // Client, Server
	Lifetime      time.Duration `json:"lifetime,omitempty"` // zero to leave it to the signer
	Key           string        `json:"key,omitempty"`      // ECDSA, RSA, Ed25519
}

// Digest identifies a request. A certificate of a request with another digest is issued again.
func (r Request) Digest() string {
	text, _ := json.Marshal(r) // strings and a number: never fails
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// NewKey makes a private key of a kind.
func NewKey(kind string) (key crypto.Signer, err error) {
	switch kind {
	case ECDSA, "":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RSA:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		return nil, fmt.Errorf("make a key of kind %q: expected %s, %s or %s", kind, ECDSA, RSA, Ed25519)
	}
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

// CSR returns the request as PKCS #10 in PEM. Its signature proves that the requester has the key,
// which it does not contain.
func (r Request) CSR(key crypto.Signer) ([]byte, error) {
	names, addresses := r.sans()
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: r.subject(), DNSNames: names, IPAddresses: addresses}, key)
	if err != nil {
		return nil, fmt.Errorf("write a certificate request for %q: %w", r.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemRequest, Bytes: der}), nil
}

func (r Request) subject() pkix.Name {
	return pkix.Name{CommonName: r.CommonName, Organization: r.Organizations}
}

// sans splits the names into host names and addresses.
func (r Request) sans() (names []string, addresses []net.IP) {
	for _, name := range r.Names {
		if a, err := netip.ParseAddr(name); err == nil {
			addresses = append(addresses, a.AsSlice())
		} else {
			names = append(names, name)
		}
	}
	return names, addresses
}

// extended returns the usages in the form of package x509.
func (r Request) extended() []x509.ExtKeyUsage {
	var out []x509.ExtKeyUsage
	for _, u := range r.Usages {
		switch u {
		case Client:
			out = append(out, x509.ExtKeyUsageClientAuth)
		case Server:
			out = append(out, x509.ExtKeyUsageServerAuth)
		}
	}
	return out
}
