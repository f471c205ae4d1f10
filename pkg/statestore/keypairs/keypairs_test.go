package keypairs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/statestore/keypairs"
	"github.com/netwright/netwright/test/pki"
)

// identity is a certificate with its key; without a parent it signs itself.
type identity struct {
	cert, key []byte // PEM
	parsed    *x509.Certificate
	private   *ecdsa.PrivateKey
}

func issue(t *testing.T, name string, parent *identity) *identity {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true,
	}
	signer := &identity{parsed: template, private: private}
	if parent != nil {
		signer = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.parsed, &private.PublicKey, signer.private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &identity{
		cert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		parsed: parsed, private: private,
	}
}

// keysetYAML writes keys as kOps does. Their arguments are triples of id, certificate and key.
func keysetYAML(primary string, distrusted string, keys ...any) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: kops.k8s.io/v1alpha2\nkind: Keyset\nmetadata:\n  creationTimestamp: null\n  name: x\nspec:\n  keys:\n")
	for i := 0; i < len(keys); i += 3 {
		fmt.Fprintf(&b, "  - id: %q\n", keys[i])
		if keys[i] == distrusted {
			fmt.Fprintf(&b, "    distrustTimestamp: \"2026-01-01T00:00:00Z\"\n")
		}
		fmt.Fprintf(&b, "    publicMaterial: %s\n", base64.StdEncoding.EncodeToString(keys[i+1].([]byte)))
		if key := keys[i+2].([]byte); key != nil {
			fmt.Fprintf(&b, "    privateMaterial: %s\n", base64.StdEncoding.EncodeToString(key))
		}
	}
	fmt.Fprintf(&b, "  primaryId: %q\n  type: Keypair\n", primary)
	return b.Bytes()
}

func pairsOf(t *testing.T, objects map[string][]byte) map[string]keypairs.Keypair {
	t.Helper()
	pairs, err := keypairs.Of(objects)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func expectPair(t *testing.T, got keypairs.Keypair, ca []byte, want *identity, origin string) {
	t.Helper()
	if !bytes.Equal(got.CA, ca) || !bytes.Equal(got.Cert, want.cert) || !got.Key.Equal(secret.Of(want.key)) || got.Origin != origin {
		t.Errorf("got CA\n%s\ncertificate\n%s\nof %q (key is right: %v), want CA\n%s\ncertificate\n%s\nof %q",
			got.CA, got.Cert, got.Origin, got.Key.Equal(secret.Of(want.key)), ca, want.cert, origin)
	}
}

// This is the layout of kOps before 1.20, with calico-client as Calico with etcd had it.
func TestKeypairsOfFiles(t *testing.T) {
	ca := issue(t, "kubernetes", nil)
	oldCA, old, young := issue(t, "kubernetes", nil), issue(t, "calico-client", ca), issue(t, "calico-client", ca)
	got := pairsOf(t, map[string][]byte{
		"cluster.yaml":                         nil,
		"pki/issued/ca/9.crt":                  oldCA.cert,
		"pki/issued/ca/10.crt":                 ca.cert,
		"pki/issued/calico-client/9.crt":       old.cert,
		"pki/private/calico-client/9.key":      old.key,
		"pki/issued/calico-client/69828.crt":   young.cert,
		"pki/private/calico-client/69828.key":  young.key,
		"pki/private/only-a-key/1.key":         young.key,
		"pki/private/calico-client/99999.key":  young.key, // issued later
		"pki/issued/without-key/by-a-name.crt": old.cert,
	})
	expectPair(t, got["calico-client"], ca.cert, young, "pki/issued/calico-client/69828.crt")
	expectPair(t, got["ca"], ca.cert, &identity{cert: ca.cert}, "pki/issued/ca/10.crt")
	expectPair(t, got["without-key"], ca.cert, &identity{cert: old.cert}, "pki/issued/without-key/by-a-name.crt")
	if len(got) != 3 {
		t.Errorf("%d keypairs, want 3", len(got))
	}
}

func TestKeypairsOwnCA(t *testing.T) {
	cluster, etcd := issue(t, "kubernetes", nil), issue(t, "etcd", nil)
	client := issue(t, "calico-client", etcd)
	got := pairsOf(t, map[string][]byte{
		"pki/issued/kubernetes-ca/1.crt":  cluster.cert,
		"pki/issued/calico-client/ca.crt": etcd.cert,
		"pki/issued/calico-client/1.crt":  client.cert,
		"pki/private/calico-client/1.key": client.key,
	})
	expectPair(t, got["calico-client"], etcd.cert, client, "pki/issued/calico-client/1.crt")
}

func TestKeypairsOfKeysets(t *testing.T) {
	ca, nextCA, lostCA := issue(t, "kubernetes", nil), issue(t, "kubernetes", nil), issue(t, "kubernetes", nil)
	first, second := issue(t, "calico-client", ca), issue(t, "calico-client", nextCA)
	cas := keysetYAML("1", "3", "1", ca.cert, ca.key, "2", nextCA.cert, nextCA.key, "3", lostCA.cert, lostCA.key)
	got := pairsOf(t, map[string][]byte{
		"pki/private/kubernetes-ca/keyset.yaml": cas,
		"pki/private/calico-client/keyset.yaml": keysetYAML("5", "", "5", first.cert, first.key, "6", second.cert, second.key),
		"pki/issued/calico-client/7.crt":        second.cert, // a rest of an older layout
		"pki/issued/split/keyset.yaml":          keysetYAML("5", "", "5", first.cert, []byte(nil)),
		"pki/private/split/5.key":               first.key,
		"pki/private/no-primary/keyset.yaml":    keysetYAML("", "6", "5", first.cert, first.key, "6", second.cert, second.key),
	})
	bundle := append(bytes.Clone(ca.cert), nextCA.cert...) // the primary first, and without the distrusted one
	expectPair(t, got["calico-client"], bundle, first, "pki/private/calico-client/keyset.yaml")
	expectPair(t, got["split"], bundle, first, "pki/issued/split/keyset.yaml")
	expectPair(t, got["no-primary"], bundle, first, "pki/private/no-primary/keyset.yaml")
	expectPair(t, got["kubernetes-ca"], bundle, ca, "pki/private/kubernetes-ca/keyset.yaml")
}

// A cluster that was renamed to kubernetes-ca may have certificates of its former CA.
func TestKeypairsFindTheSigner(t *testing.T) {
	former, present, etcd := issue(t, "kubernetes", nil), issue(t, "kubernetes", nil), issue(t, "etcd-clients-ca", nil)
	a, b, stranger, e := issue(t, "a", former), issue(t, "b", present), issue(t, "c", issue(t, "elsewhere", nil)), issue(t, "e", etcd)
	got := pairsOf(t, map[string][]byte{
		"pki/issued/ca/1.crt":              former.cert,
		"pki/issued/kubernetes-ca/1.crt":   present.cert,
		"pki/issued/a/1.crt":               a.cert,
		"pki/issued/b/1.crt":               b.cert,
		"pki/issued/c/1.crt":               stranger.cert,
		"pki/issued/d/1.crt":               []byte("no certificate"),
		"pki/issued/etcd-clients-ca/1.crt": etcd.cert,
		"pki/issued/e/1.crt":               e.cert,
	})
	for name, want := range map[string][]byte{"a": former.cert, "b": present.cert, "c": present.cert, "d": present.cert,
		"e": etcd.cert, "etcd-clients-ca": etcd.cert, "kubernetes-ca": present.cert} {
		if !bytes.Equal(got[name].CA, want) {
			t.Errorf("wrong CA for %s", name)
		}
	}
}

// The CA of a certificate is the root of its own chain, also if that root signed only the CA
// between. It is not the root of another certificate beside the same CA. The line that keeps it:
// keypairs.go, authority.
func TestKeypairsFindTheRootOfAChain(t *testing.T) {
	root, cluster := pki.New(t, "etcd"), pki.New(t, "kubernetes")
	between := root.Below("etcd clients")
	got := pairsOf(t, map[string][]byte{
		"pki/issued/kubernetes-ca/1.crt": []byte(cluster.PEM),
		"pki/issued/etcd-ca/1.crt":       []byte(root.PEM),
		"pki/issued/another/1.crt":       []byte(between.Client("another").Cert + between.PEM),
		"pki/issued/own/1.crt":           []byte(between.Client("own").Cert + between.PEM),
		"pki/issued/alone/1.crt":         []byte(between.Client("alone").Cert),
	})
	for name, want := range map[string]string{"own": root.PEM, "another": root.PEM, "alone": cluster.PEM} {
		if string(got[name].CA) != want {
			t.Errorf("%s has the CA\n%s", name, got[name].CA)
		}
	}
}

// A byte order mark does not belong to an installed file, since its readers would read the mark,
// too. The lines that keep it: keypairs.go, keysets; keyset.go, declare.
func TestKeypairsWithoutByteOrderMarks(t *testing.T) {
	const mark = "\ufeff"
	first, second := issue(t, "kubernetes", nil), issue(t, "kubernetes", nil)
	both := append(bytes.Clone(first.cert), second.cert...)
	marked := []byte(mark + string(first.cert) + mark + string(second.cert))
	key := []byte(mark + string(first.key))
	got := pairsOf(t, map[string][]byte{
		"pki/issued/ca/1.crt":              marked,
		"pki/private/ca/1.key":             key,
		"pki/private/declared/keyset.yaml": keysetYAML("1", "", "1", marked, key),
	})
	expectPair(t, got["ca"], both, &identity{cert: both, key: first.key}, "pki/issued/ca/1.crt")
	expectPair(t, got["declared"], both, &identity{cert: both, key: first.key}, "pki/private/declared/keyset.yaml")
}

func TestKeypairsBrokenKeyset(t *testing.T) {
	client := issue(t, "calico-client", nil)
	secret := base64.StdEncoding.EncodeToString(client.key)
	for name, text := range map[string]string{
		"not YAML":   "spec: {keys: [{privateMaterial: " + secret + "}",
		"at line 3":  "kind: Keyset\nspec:\n\tkeys: " + secret + "\n",
		"wrong type": "kind: Keyset\nspec:\n  keys: " + secret + "\n",
		"wrong kind": "kind: Secret\nspec: {keys: [{privateMaterial: " + secret + "}]}",
		"no base64":  "kind: Keyset\nspec: {keys: [{publicMaterial: '', privateMaterial: '!" + secret + "'}]}",
	} {
		pairs, err := keypairs.Of(map[string][]byte{
			"pki/private/broken/keyset.yaml": []byte(text),
			"pki/issued/broken/1.crt":        client.cert,
			"pki/issued/good/1.crt":          client.cert,
		})
		if err == nil || !strings.Contains(err.Error(), "pki/private/broken/keyset.yaml") || strings.Contains(err.Error(), secret[:12]) {
			t.Errorf("%s: %v; want an error with the name and without the key", name, err)
		}
		if strings.HasPrefix(name, "at line") && !strings.Contains(err.Error(), "keyset.yaml:3: ") {
			t.Errorf("%s: Of returns %v", name, err)
		}
		if _, ok := pairs["broken"]; ok || len(pairs) != 1 {
			t.Errorf("%s: got %d keypairs, want the good one alone", name, len(pairs))
		}
	}
}
