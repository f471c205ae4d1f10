package certs

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/test/pki"
)

// ca makes an authority whose validity begins at start.
func ca(t *testing.T, life time.Duration, change func(*x509.Certificate)) (*Authority, []byte, secret.Text) {
	t.Helper()
	key, err := NewKey(ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: Request{CommonName: "etcd-ca"}.subject(), NotBefore: start, NotAfter: start.Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: der})
	text, err := EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAuthority(cert, text)
	if err != nil && change == nil {
		t.Fatal(err)
	}
	return a, cert, text
}

func TestSign(t *testing.T) {
	a, _, _ := ca(t, 1000*time.Hour, nil)
	now := start.Add(10 * time.Hour)
	for _, kind := range []string{ECDSA, RSA, Ed25519} {
		r := Request{CommonName: "calico-client", Organizations: []string{"o"}, Names: []string{"node-1", "10.0.0.1", "fd00::1"},
			Usages: []string{Client, Server}, Lifetime: 100 * time.Hour, Key: kind}
		key, err := NewKey(r.Key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.Sign(r, key.Public(), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
			opt := x509.VerifyOptions{Roots: Pool([]*x509.Certificate{a.Cert}), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}, DNSName: "node-1"}
			if _, err := c.Verify(opt); err != nil {
				t.Errorf("%s: Verify returns %v", kind, err)
			}
		}
		if got := Subject(c) + " " + strings.Join(Names(c), ","); got != "CN=calico-client,O=o node-1,10.0.0.1,fd00::1" {
			t.Errorf("%s: it is %s", kind, got)
		}
		if !c.NotBefore.Equal(now.Add(-5*time.Minute)) || !c.NotAfter.Equal(now.Add(100*time.Hour)) {
			t.Errorf("%s: it lives from %s to %s", kind, c.NotBefore, c.NotAfter)
		}
		if encipher := c.KeyUsage&x509.KeyUsageKeyEncipherment != 0; encipher != (kind == RSA) {
			t.Errorf("%s: key usage %b", kind, c.KeyUsage)
		}
		text, err := EncodeKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseKey(text); err != nil || !KeyMatches(again, c) {
			t.Errorf("%s: the key written and read does not fit (%v)", kind, err)
		}
	}
}

func TestSignWithinTheAuthority(t *testing.T) {
	a, _, _ := ca(t, 100*time.Hour, nil)
	key, _ := NewKey("")
	r := Request{CommonName: "x", Lifetime: 90 * time.Hour}
	c, err := a.Sign(r, key.Public(), start.Add(50*time.Hour))
	if err != nil || !c.NotAfter.Equal(a.Cert.NotAfter) {
		t.Errorf("it outlives the CA: %v, %v", c.NotAfter, err)
	}
	if c, err = a.Sign(r, key.Public(), start.Add(time.Second)); err != nil || c.NotBefore.Before(start) {
		t.Errorf("it begins before the CA: %v, %v", c.NotBefore, err)
	}
	for at, want := range map[time.Duration]string{-time.Hour: ErrNotYet.Error(), 101 * time.Hour: "ended on"} {
		_, err := a.Sign(r, key.Public(), start.Add(at))
		_, later := a.Sign(r, key.Public(), start.Add(at+time.Second)) // another text would be another status
		if err == nil || !strings.Contains(err.Error(), want) || later == nil || later.Error() != err.Error() {
			t.Errorf("%s after its begin: %v, then %v; want %s, twice the same", at, err, later, want)
		}
	}
}

func TestParseAuthority(t *testing.T) {
	_, cert, key := ca(t, time.Hour, nil)
	_, leaf, leafKey := ca(t, time.Hour, func(c *x509.Certificate) { c.IsCA = false })
	_, mute, muteKey := ca(t, time.Hour, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign })
	for want, in := range map[string]struct {
		cert []byte
		key  secret.Text
	}{
		"is not a CA":              {leaf, leafKey},
		"may not sign":             {mute, muteKey},
		"its private key does not": {cert, leafKey},
		"no private key was given": {cert, secret.Text{}},
		"no private key in it":     {cert, secret.Of([]byte("# soon"))},
		"read its certificate: no": {nil, key},
	} {
		if _, err := ParseAuthority(in.cert, in.key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestRequest(t *testing.T) {
	r := Request{CommonName: "system:node:n1", Organizations: []string{"system:nodes"}, Names: []string{"n1", "10.0.0.1"}}
	key, _ := NewKey("")
	text, err := r.CSR(key)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	got, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || got.CheckSignature() != nil {
		t.Fatalf("ParseCertificateRequest returns %v, %v", err, got)
	}
	if got.Subject.CommonName != r.CommonName || !slices.Equal(got.DNSNames, []string{"n1"}) || len(got.IPAddresses) != 1 {
		t.Errorf("ParseCertificateRequest returns %+v", got)
	}
	other := r
	other.Lifetime = time.Hour
	if r.Digest() == other.Digest() {
		t.Error("two requests have one digest")
	}
	if _, err := NewKey("dsa"); err == nil {
		t.Error("a key of an unknown kind was made")
	}
}

// The signer is found through intermediate CAs in any order, also if they are there twice, but not
// through a CA that no root signed. An equal name alone, or an equal key alone, makes no signer.
// The line that keeps it: pem.go, SignedBy.
func TestSignedBy(t *testing.T) {
	root, other := pki.New(t, "root"), pki.New(t, "root")
	high := root.Below("high")
	low := high.Below("low")
	leaf, foreign := low.Client("leaf").Cert, other.Below("high").Below("low").Client("leaf").Cert
	for name, c := range map[string]struct {
		leaf, roots, between string
		by                   *pki.Authority
	}{
		"both between":            {leaf, root.PEM, high.PEM + low.PEM, low},
		"in another order":        {leaf, other.PEM + root.PEM, low.PEM + high.PEM, low},
		"twice":                   {leaf, root.PEM, strings.Repeat(low.PEM+high.PEM, 20), low},
		"one is missing":          {leaf, root.PEM, strings.Repeat(low.PEM, 20), nil},
		"the root is between":     {leaf, other.PEM, low.PEM + high.PEM + root.PEM, nil},
		"the one above is a root": {leaf, high.PEM, low.PEM, low},
		"the signer is a root":    {leaf, low.PEM, "", low},
		"other keys, same names":  {foreign, root.PEM, low.PEM + high.PEM, nil},
	} {
		one := func(text string) []*x509.Certificate {
			all, _ := Parse([]byte(text)) // an empty text is an error
			return all
		}
		got := SignedBy(one(c.leaf)[0], one(c.roots), one(c.between)...)
		if (got == nil) != (c.by == nil) || got != nil && string(Encode(got)) != c.by.PEM {
			t.Errorf("%s: signed by %v", name, got)
		}
	}
	a, _, _ := ca(t, time.Hour, nil)
	key, _ := NewKey("")
	c, err := a.Sign(Request{CommonName: "leaf", Lifetime: time.Hour}, key.Public(), start)
	if err != nil {
		t.Fatal(err)
	}
	renamed := *a.Cert
	renamed.RawSubject = []byte("another")
	if SignedBy(c, []*x509.Certificate{&renamed}) != nil {
		t.Error("a CA of another name, whose key signed, is its signer")
	}
}

// No block behind a byte order mark is skipped, of certificates or of a key. The lines that keep
// it: pem.go, StripBOM, Parse and ParseKey.
func TestParseBehindAByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	a, one, key := ca(t, time.Hour, nil)
	_, two, _ := ca(t, time.Hour, nil)
	all, err := Parse([]byte(mark + string(one) + mark + string(two)))
	if err != nil || len(all) != 2 || !all[0].Equal(a.Cert) {
		t.Errorf("%d of two certificates (%v)", len(all), err)
	}
	if signer, err := ParseKey(secret.New(mark + key.Reveal())); err != nil || !KeyMatches(signer, a.Cert) {
		t.Errorf("the key: %v", err)
	}
}
