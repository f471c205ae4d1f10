package tasks

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// authority issues certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	ok(t, err)
	a := authority{t: t, key: key}
	a.cert = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key.Public(), nil)
	return a
}

// sign completes the template and signs it with the authority, or with the certificate's own key.
func (a authority) sign(template *x509.Certificate, public crypto.PublicKey, parent *x509.Certificate) *x509.Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(0xabc)
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(400 * 24 * time.Hour)
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	ok(a.t, err)
	cert, err := x509.ParseCertificate(der)
	ok(a.t, err)
	return cert
}

func (a authority) client(name string, public crypto.PublicKey, change func(*x509.Certificate)) *x509.Certificate {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if change != nil {
		change(template)
	}
	return a.sign(template, public, a.cert)
}

func certPEM(certs ...*x509.Certificate) (text []byte) {
	for _, c := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return text
}

func keyPEM(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	ok(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	return key
}

// calicoSet returns a right set of certificates of an authority.
func calicoSet(t *testing.T, ca authority, key crypto.Signer, change func(*x509.Certificate)) CertificateSet {
	t.Helper()
	return CertificateSet{
		Dir: "/etc/calico/pki", CommonName: "calico-client",
		CA:   CertFile{Name: "ca.pem", PEM: certPEM(ca.cert), Mode: 0o644},
		Cert: CertFile{Name: "client.pem", PEM: certPEM(ca.client("calico-client", key.Public(), change)), Mode: 0o644},
		Key:  CertFile{Name: "client-key.pem", PEM: keyPEM(t, key), Mode: 0o600},
	}
}

// lastDay returns the day on which a certificate ends, since the certificate may be made before or
// after midnight.
func lastDay(t *testing.T, file CertFile) string {
	t.Helper()
	block, _ := pem.Decode(file.PEM)
	cert, err := x509.ParseCertificate(block.Bytes)
	ok(t, err)
	return cert.NotAfter.UTC().Format(time.DateOnly)
}

func TestCertificateSet(t *testing.T) {
	h, root := onDisk(t)
	ca, key := newAuthority(t, "ca"), ecKey(t)
	set := calicoSet(t, ca, key, nil)
	until := lastDay(t, set.Cert)
	c := converge(t, h, set)
	wantLines(t, c, "+ file:/etc, type →directory, mode →0755, owner →root:root", "+ file:/etc/calico, type →directory, mode →0755, owner →root:root",
		"+ file:/etc/calico/pki, type →directory, mode →0755, owner →root:root",
		"+ file:/etc/calico/pki/ca.pem, certificate →CN=ca until "+lastDay(t, set.CA)+", serial abc, mode →0644, owner →root:root",
		"+ file:/etc/calico/pki/client.pem, certificate →CN=calico-client until "+until+", serial abc, mode →0644, owner →root:root",
		"+ file:/etc/calico/pki/client-key.pem, mode →0600, owner →root:root")
	wantFile(t, root+"/etc/calico/pki/ca.pem", string(set.CA.PEM), 0o644, 0)
	wantFile(t, root+"/etc/calico/pki/client.pem", string(set.Cert.PEM), 0o644, 0)
	wantFile(t, root+"/etc/calico/pki/client-key.pem", string(set.Key.PEM), 0o600, 0)

	ok(t, os.Chmod(root+"/etc/calico/pki/client-key.pem", 0o644))
	wantLines(t, converge(t, h, set), "~ file:/etc/calico/pki/client-key.pem, mode 0644→0600")

	renewed := calicoSet(t, ca, ecKey(t), func(c *x509.Certificate) { c.NotAfter = time.Now().Add(10 * 24 * time.Hour) })
	c = converge(t, h, renewed)
	wantLines(t, c, "~ file:/etc/calico/pki/client.pem, certificate CN=calico-client until "+until+", serial abc→CN=calico-client until "+
		lastDay(t, renewed.Cert)+", serial abc", "~ file:/etc/calico/pki/client-key.pem, content secret→another secret")
	for _, it := range c.Items {
		if it.Before != nil || it.After != nil {
			t.Errorf("%s is shown", it.Key)
		}
	}
}

func TestCertificateSetOfOtherKinds(t *testing.T) {
	h, _ := onDisk(t)
	ca := newAuthority(t, "ca")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	ok(t, err)
	set := calicoSet(t, ca, rsaKey, func(c *x509.Certificate) { c.ExtKeyUsage = nil })
	set.Key.PEM = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	plan(t, set, h.Live.View())

	ec := ecKey(t)
	set = calicoSet(t, ca, ec, nil)
	der, err := x509.MarshalECPrivateKey(ec)
	ok(t, err)
	set.Key.PEM = append([]byte("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	plan(t, set, h.Live.View())

	// Here are an intermediate authority, and a bundle of two CAs.
	between := authority{t: t, key: ecKey(t)}
	between.cert = ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, between.key.Public(), ca.cert)
	set = calicoSet(t, between, ec, nil)
	set.Cert.PEM = append(set.Cert.PEM, certPEM(between.cert)...)
	set.CA.PEM = certPEM(newAuthority(t, "old ca").cert, ca.cert)
	plan(t, set, h.Live.View())
}

// The check says that the CA did not sign only if that is so. Here the CA signed, and allows no CA
// below it. The line that keeps it: certificates_check.go, checkChain.
func TestCertificateSetThatItsCADoesNotAllow(t *testing.T) {
	h, _ := onDisk(t)
	strict := authority{t: t, key: ecKey(t)}
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "strict"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true}
	strict.cert = strict.sign(ca, strict.key.Public(), nil)
	between := authority{t: t, key: ecKey(t)}
	between.cert = strict.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true}, between.key.Public(), strict.cert)
	set := calicoSet(t, between, ecKey(t), nil)
	set.Cert.PEM = append(set.Cert.PEM, certPEM(between.cert)...)
	set.CA.PEM = certPEM(strict.cert)
	wantError(t, set, h.Live.View(), "is signed under the CA in ca.pem (CN=strict), but peers refuse it", "too many intermediates")
	set.Cert.PEM = set.Cert.PEM[:len(set.Cert.PEM)-len(certPEM(between.cert))]
	wantError(t, set, h.Live.View(), "is not signed by the CA in ca.pem (CN=strict)")
}

func TestCertificateSetSaysWhatIsWrong(t *testing.T) {
	h, root := onDisk(t)
	ca, key := newAuthority(t, "ca"), ecKey(t)
	for name, c := range map[string]struct {
		change func(*x509.Certificate)
		set    func(*CertificateSet)
		want   []string
	}{
		"key of another": {set: func(s *CertificateSet) { s.Key.PEM = keyPEM(t, ecKey(t)) }, want: []string{"client-key.pem is not the key of client.pem", "CN=calico-client", "issued together"}},
		"another ca":     {set: func(s *CertificateSet) { s.CA.PEM = certPEM(newAuthority(t, "other").cert) }, want: []string{"not signed by the CA in ca.pem (CN=other)", "issued by CN=ca"}},
		"another name":   {set: func(s *CertificateSet) { s.CommonName = "kube-router" }, want: []string{`common name "calico-client", expected "kube-router"`}},
		"expired":        {change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, want: []string{"client.pem (CN=calico-client) expired on", "issue a new one"}},
		"for servers":    {change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, want: []string{"not for clients", "clientAuth"}},
		"no certificate": {set: func(s *CertificateSet) { s.Cert.PEM = []byte("what?") }, want: []string{"read client.pem: no certificate"}},
		"damaged": {set: func(s *CertificateSet) {
			s.CA.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})
		}, want: []string{"read ca.pem"}},
		"no key": {set: func(s *CertificateSet) { s.Key.PEM = nil }, want: []string{"read client-key.pem: no private key"}},
		"damaged key": {set: func(s *CertificateSet) {
			s.Key.PEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("hunter2")})
		}, want: []string{"read client-key.pem: the private key is damaged"}},
		"encrypted key":    {set: func(s *CertificateSet) { s.Key.PEM = pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY"}) }, want: []string{"encrypted"}},
		"directory in way": {set: func(s *CertificateSet) { s.CA.Name = "dir" }, want: []string{"a directory is in the way"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := calicoSet(t, ca, key, c.change)
			if c.set != nil {
				c.set(&set)
			}
			ok(t, os.MkdirAll(root+"/etc/calico/pki/dir", 0o755))
			err := wantError(t, set, h.Live.View(), c.want...)
			for _, secret := range []string{"hunter2", "PRIVATE KEY-----\nM"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("a secret is shown: %v", err)
				}
			}
			if err := set.Apply(t.Context(), h, nil); err == nil {
				t.Error("applied all the same")
			}
			if left, _ := os.ReadDir(root + "/etc/calico/pki"); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
		})
	}
	early := calicoSet(t, ca, key, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })
	if err := wantError(t, early, h.Live.View(), "check that the clock is right"); !graph.IsWait(err) {
		t.Errorf("no wait: %v", err)
	}
	late := calicoSet(t, ca, key, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	wantError(t, late, h.Live.View(), "expired on")
	for _, f := range late.files() { // on the node this is known when the set expires
		ok(t, os.WriteFile(root+f.Path, f.Content, f.Mode))
		ok(t, os.Chmod(root+f.Path, f.Mode))
	}
	if c, err := late.Plan(t.Context(), h.Live.View()); err != nil || c != nil {
		t.Errorf("an expired set in its place: %v, %v", c, err)
	}
}

// Two passes have the same error of a set that is not valid now. Another text would be another
// status.
func TestCertificateSetErrorHasNoPresentTime(t *testing.T) {
	ca, key, now := newAuthority(t, "ca"), ecKey(t), time.Now()
	set := calicoSet(t, ca, key, nil)
	late := ca
	late.cert = ca.sign(&x509.Certificate{Subject: ca.cert.Subject, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)}, ca.key.Public(), nil)
	ofLate := set
	ofLate.CA.PEM = certPEM(late.cert)
	for name, c := range map[string]struct {
		set CertificateSet
		at  time.Time
	}{"expired": {set, now.AddDate(100, 0, 0)}, "not valid yet": {set, now.AddDate(-100, 0, 0)}, "of a CA that expired": {ofLate, now}} {
		first, second := c.set.check(c.at), c.set.check(c.at.Add(3*time.Second))
		if first == nil || second == nil || first.Error() != second.Error() {
			t.Errorf("%s: %v, then %v", name, first, second)
		}
	}
}

func TestCertificateSetToBeIssued(t *testing.T) {
	h, root := onDisk(t)
	set := CertificateSet{Dir: "/etc/own", CA: CertFile{Name: "ca.crt"}, Cert: CertFile{Name: "own.crt"}, Key: CertFile{Name: "own.key"},
		Kubeconfig: &Kubeconfig{Path: "/var/lib/own/kubeconfig"}, Issue: "would be issued by the CA etcd-ca of the store"}
	set.Effects = []graph.Key{Restart("own.service")}
	c, err := set.Plan(t.Context(), h.Live.View())
	ok(t, err)
	if c.Unknown != "until it is issued" || c.Reason != set.Issue || len(c.Effects) != 1 {
		t.Errorf("Plan returns %+v", c)
	}
	var keys []string
	for _, it := range c.Items {
		keys = append(keys, string(it.Op)+string(it.Key))
	}
	if got, want := strings.Join(keys, " "), "+file:/etc +file:/etc/own +file:/var +file:/var/lib +file:/var/lib/own "+
		"+file:/etc/own/ca.crt +file:/etc/own/own.crt +file:/etc/own/own.key +file:/var/lib/own/kubeconfig"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	ok(t, os.MkdirAll(root+"/etc/own", 0o755))
	ok(t, os.WriteFile(root+"/etc/own/own.key", nil, 0o600))
	c, err = set.Plan(t.Context(), h.Live.View())
	ok(t, err)
	for _, it := range c.Items {
		if it.Key == FileKey("/etc/own/own.key") && it.Op != Update {
			t.Errorf("the key that is there is not replaced: %+v", it)
		}
	}
}

func TestCertificateSetAsKubeconfig(t *testing.T) {
	h, root := onDisk(t)
	key := ecKey(t)
	set := calicoSet(t, newAuthority(t, "ca"), key, nil)
	set.Dir, set.Kubeconfig = "", &Kubeconfig{Path: "/var/lib/kube-router/kubeconfig", Server: "https://api.example.com", Mode: 0o400}
	converge(t, h, set)
	text, err := os.ReadFile(root + "/var/lib/kube-router/kubeconfig")
	ok(t, err)
	for _, part := range []string{`server: "https://api.example.com"`, "client-key-data: " + base64.StdEncoding.EncodeToString(set.Key.PEM)} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in it:\n%s", part, text)
		}
	}
	if c, err := set.Plan(t.Context(), h.Live.View()); c != nil || err != nil {
		t.Errorf("again: %v, %v", c, err)
	}
}
