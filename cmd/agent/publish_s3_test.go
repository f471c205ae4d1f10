package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/s3server"
)

// The documents go from a directory to a bucket and from there to a node, by the commands that a
// person types. The S3 server is a real one.
func TestPublishToS3(t *testing.T) {
	needs.Root(t) // an image's files belong to root
	server := s3server.Start(t)
	server.Bucket("fleet")
	for name, value := range map[string]string{
		"S3_ENDPOINT": server.URL, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": s3server.Access, "S3_SECRET_ACCESS_KEY": s3server.Secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
	const dest, cluster = "s3://fleet/some/prefix", "demo.example.com"
	dir, image, key := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "k")
	document := filepath.Join(dir, cluster, "cluster.yaml")
	if err := os.CopyFS(dir, os.DirFS("../../examples/bridge")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, append(text, "$ASSETS\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := putAssets(document); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join(dir, cluster, "assets/plugins.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	server.Put("fleet", "some/prefix/"+cluster+"/assets/plugins.tgz", archive)

	says := func(code cli.Exit, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(t.Context(), args, cli.Output{In: strings.NewReader(""), Out: &out, Err: &errs}); got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("agent %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), got, code, want, out.String(), errs.String())
		}
	}
	says(0, "trustedKeys: [RW", "store", "keygen", "--out", key)
	says(0, "published generation 1 in s3://fleet/some/prefix/"+cluster, "store", "publish", dir, dest, "--key", key+".key")
	says(0, "nothing to publish: it is there already as generation 1", "store", "publish", dir, dest, "--key", key+".key")
	says(0, "which is trusted", "store", "verify", dest, "--cluster", cluster, "--public-key", key+".pub")
	says(0, "signed generation 1", "store", "sign", dest, "--cluster", cluster, "--key", key+".key")

	// Behind a server with a CA of our own, the agent uses the CA that its own file names for
	// stores.
	front := tlsFront(t, server.URL)
	ca, own := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "agent.yaml")
	if err := errors.Join(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o644),
		os.WriteFile(own, []byte("cluster: another.example.com\nstoreCA: "+ca+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	secure := dest + "?endpoint=" + front.URL
	says(1, "install the server's CA", "store", "sign", secure, "--cluster", cluster, "--key", key+".key")
	says(0, "signed generation 1", "store", "sign", secure, "--cluster", cluster, "--key", key+".key", "--conf", own)
	says(0, "nothing to publish", "store", "publish", dir, secure, "--key", key+".key", "--conf", own)

	pub, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(conf, []byte("store: "+dest+"\ncluster: "+cluster+"\nnode: node-1\ntrustedKeys: ["+strings.Split(string(pub), "\n")[1]+"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	once := []string{"--once", "--conf", conf, "--root", image}
	says(0, "generation 1", once...)

	// First a person without a key writes to the bucket, then the server is gone.
	m := "{\"apiVersion\": \"netwright.dev/v1alpha1\", \"kind\": \"Manifest\", \"cluster\": \"" + cluster + "\", \"generation\": 2, \"objects\": {}}\n"
	server.Put("fleet", "some/prefix/"+cluster+"/manifest", trust.Join([]byte(m)))
	conflist := filepath.Join(image, "etc/cni/net.d/05-netwright-bridge.conflist")
	for _, want := range []string{"is not signed, and only these keys are trusted", "127.0.0.1:1"} {
		if err := os.Remove(conflist); err != nil {
			t.Fatal(err)
		}
		says(1, want, once...)
		if _, err := os.Stat(conflist); err != nil {
			t.Errorf("drift is not repaired: %v", err)
		}
		t.Setenv("S3_ENDPOINT", "http://127.0.0.1:1")
	}
}

// tlsFront starts a TLS server in front of one that has no TLS.
func tlsFront(t *testing.T, behind string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature includes it
	}})
	t.Cleanup(front.Close)
	return front
}
