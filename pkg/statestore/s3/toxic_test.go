package s3_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

func pemOf(cert *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bucket serves the objects of a cluster to everybody, as S3 serves a bucket by path.
func bucket(m *storetest.MapStore) http.Handler { return toxic.Bucket("b", m) }

type outcome struct {
	text      string // in the error; "": there is no error
	transient bool
	requests  int // of one call, at most
}

// The faults of S3 and of servers before it, for a running node when a new generation is there.
func TestToxic(t *testing.T) {
	account(t, "", "a", "b")
	var table toxic.Table
	t.Cleanup(func() { t.Log("\n" + table.String()) })
	arn := "arn:aws:s3:::b/" + storetest.Cluster + "/*"
	for _, c := range []struct {
		name  string
		fault toxic.Fault
		want  outcome
	}{
		{"AccessDenied", toxic.S3(403, "AccessDenied", "User: arn:aws:sts::1:assumed-role/nodes/i-1 is not authorized to perform: s3:GetObject"),
			outcome{"403 AccessDenied (User: arn:aws:sts::1:assumed-role/nodes/i-1 is not authorized to perform: s3:GetObject): allow s3:GetObject on " + arn + "; and s3:ListBucket on arn:aws:s3:::b", false, 1}},
		{"AccessDenied by KMS", toxic.S3(403, "AccessDenied", "User: arn:aws:sts::1:assumed-role/nodes/i-1 is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:eu-west-1:1:key/2"),
			outcome{"allow kms:Decrypt", false, 1}},
		{"archived", toxic.S3(403, "InvalidObjectState", "The operation is not valid for the object's storage class"),
			outcome{"403 InvalidObjectState (The operation is not valid for the object's storage class): restore it, and end the rule", false, 1}},
		{"a key of KMS that is off", toxic.S3(400, "KMS.DisabledException", "arn:aws:kms:eu-west-1:1:key/2 is disabled."),
			outcome{"400 KMS.DisabledException (arn:aws:kms:eu-west-1:1:key/2 is disabled.): look at the key with which " + arn + " is encrypted", false, 1}},
		{"403 without a body", toxic.Status(403, 0), outcome{"allow s3:GetObject on " + arn, false, 1}},
		{"SlowDown", toxic.S3(503, "SlowDown", "Please reduce your request rate."), outcome{"503 SlowDown", true, 3}},
		{"SlowDown, again in an hour", toxic.S3(503, "SlowDown", "Please reduce your request rate.", "Retry-After", "3600"), outcome{"503 SlowDown", true, 1}},
		{"InternalError", toxic.S3(500, "InternalError", "We encountered an internal error."), outcome{"500 InternalError", true, 3}},
		{"429", toxic.Status(429, 0), outcome{"429", true, 3}},
		{"NoSuchKey", toxic.S3(404, "NoSuchKey", "The specified key does not exist."), outcome{"there is no published cluster", false, 1}},
		{"NoSuchKey for each object", toxic.Objects(toxic.S3(404, "NoSuchKey", "The specified key does not exist.")), outcome{"publish again, the manifest last", false, 3}},
		{"ExpiredToken", toxic.S3(400, "ExpiredToken", "The provided token has expired."), outcome{"400 ExpiredToken (The provided token has expired.): renew the credentials", true, 3}},
		{"InvalidAccessKeyId", toxic.S3(403, "InvalidAccessKeyId", "The key does not exist."), outcome{"correct the credentials", false, 1}},
		{"clock is wrong", toxic.S3(403, "RequestTimeTooSkewed", "The difference is too large.", "Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)), outcome{"look at this machine's clock", true, 3}},
		{"another region", toxic.S3(301, "PermanentRedirect", "The bucket must be addressed elsewhere.", "x-amz-bucket-region", "eu-west-1"), outcome{"the bucket is in eu-west-1: write s3://b/…?region=eu-west-1", false, 1}},
		{"reset", toxic.Reset, outcome{"get manifest", true, 4}}, // package net/http adds one where a kept connection breaks
		{"half of the manifest, then reset", toxic.Half, outcome{"after ", true, 3}},
		{"half of the manifest as if it were all", toxic.Short, outcome{"decode manifest", false, 1}},
		{"half of each object as if it were all", toxic.Objects(toxic.Short), outcome{"is not what the manifest says", false, 2}},
		{"other bytes in each object", toxic.Objects(toxic.Swapped), outcome{"is not what the manifest says", false, 2}},
		{"more than there is", toxic.Objects(toxic.Long), outcome{"the expected maximum", false, 2}},
		{"a page of a captive portal", toxic.Portal, outcome{"what is read as its manifest begins with", false, 1}},
		{"redirect to another host", toxic.Elsewhere("https://portal.example.com/login"), outcome{"302", false, 1}},
		{"nothing is ever modified", toxic.Unmodified, outcome{"not modified", false, 1}},
		{"a new ETag each time", toxic.NewETags, outcome{"", false, 2}},
		{"no ETags", toxic.NoETags, outcome{"", false, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := new(storetest.MapStore)
			server := toxic.New(t, bucket(memory), nil)
			set(memory, 1)
			s := open(t, "s3://b?endpoint="+server.URL, storetest.Cluster, trust(t, server))
			first, err := s.Fetch(t.Context(), statestore.Revision{})
			if err != nil {
				t.Fatal(err)
			}
			set(memory, 2)
			server.Taken()
			server.Fail(c.fault)
			got, err := s.Fetch(t.Context(), first.Revision)
			asked, _ := server.Taken()
			switch {
			case len(asked) > c.want.requests:
				t.Errorf("%d requests: %q", len(asked), asked)
			case c.want.text == "" && (err != nil || got.Generation != 2):
				t.Errorf("got %v, %v; want generation 2", got, err)
			case c.want.text != "" && (err == nil || graph.IsTransient(err) != c.want.transient || !strings.Contains(err.Error(), c.want.text) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "file does not exist")):
				t.Errorf("%v (transient %t); want %q", err, graph.IsTransient(err), c.want.text)
			}
			table.Add(c.name, "poll", len(asked), err)
			for range 3 {
				_, _ = s.Fetch(t.Context(), first.Revision)
			}
			if again, _ := server.Taken(); len(again) > 3*c.want.requests {
				t.Errorf("three more looks: %q", again)
			}
			server.Fail(nil)
			if strings.HasSuffix(c.name, "again in an hour") {
				return // the pause is an hour
			}
			if got, err := s.Fetch(t.Context(), first.Revision); err != nil || got.Generation != 2 {
				t.Errorf("when it was over: %v, %v", got, err)
			}
		})
	}
}

// set puts a generation whose documents have its number, the manifest last.
func set(m *storetest.MapStore, n int64) {
	text := []byte(strings.Repeat(fmt.Sprintf("# generation %d\n", n), 100))
	all := storetest.Publication(n, map[string][]byte{"cluster.yaml": text, "nodes/n.yaml": text}, true)
	for name, data := range all {
		if name != "manifest" {
			m.Set(name, data)
		}
	}
	m.Set("manifest", all["manifest"])
}

// The CA of agent.yaml is read again when its file changes, as for an https:// store. So the daemon
// needs no restart when the server gets another CA.
func TestCAIsReadAgain(t *testing.T) {
	memory := new(storetest.MapStore)
	set(memory, 1)
	server := toxic.New(t, bucket(memory), nil)
	account(t, server.URL, "a", "b")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca := file(t, pemOf(&x509.Certificate{Raw: der}))
	o := stores.Options{}
	o.HTTPS.CA = ca
	s := open(t, "s3://b", storetest.Cluster, o)
	if _, err := s.Fetch(t.Context(), statestore.Revision{}); err == nil || !strings.Contains(err.Error(), "put the PEM of the server's CA into "+ca) {
		t.Fatalf("by another CA: %v", err)
	}
	if err := os.WriteFile(ca, []byte(pemOf(server.Certificate())), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil {
		t.Error(err)
	}
}
