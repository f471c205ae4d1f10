package main

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/netwright/netwright/pkg/certs"
)

// keypair puts a CA and a certificate of that CA into a store: keypair CLUSTER-DIR CA NAME LEFT
// LIFE. LEFT is the rest of the certificate's lifetime.
func keypair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: keypair CLUSTER-DIR CA NAME LEFT LIFE")
	}
	left, err := time.ParseDuration(args[3])
	ts.Check(err)
	life, err := time.ParseDuration(args[4])
	ts.Check(err)
	now := time.Now()
	ca, err := certs.NewKey("")
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: args[1]}, NotBefore: now.Add(-2 * life), NotAfter: now.Add(10 * life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, ca.Public(), ca)
	ts.Check(err)
	caKey, err := certs.EncodeKey(ca)
	ts.Check(err)
	caCert := certs.Encode(&x509.Certificate{Raw: der})
	authority, err := certs.ParseAuthority(caCert, caKey)
	ts.Check(err)
	key, err := certs.NewKey("")
	ts.Check(err)
	leaf, err := authority.Sign(certs.Request{CommonName: args[2], Usages: []string{certs.Client}, Lifetime: life}, key.Public(), now.Add(left-life))
	ts.Check(err)
	text, err := certs.EncodeKey(key)
	ts.Check(err)
	for path, data := range map[string][]byte{
		"issued/" + args[1] + "/1.crt": caCert, "private/" + args[1] + "/1.key": []byte(caKey.Reveal()),
		"issued/" + args[2] + "/1.crt": certs.Encode(leaf), "private/" + args[2] + "/1.key": []byte(text.Reveal()),
	} {
		file := filepath.Join(ts.MkAbs(args[0]), "pki", path)
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, data, 0o600))
	}
}
