package https_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// The requests of a boot, of a look that finds nothing new, and of a new generation.
func TestRequests(t *testing.T) {
	memory := new(storetest.MapStore)
	settings, _, ca := serverTLS(t, "127.0.0.1")
	server := toxic.New(t, toxic.Files(memory), settings)
	memory.Publish(generation(1))
	s := open(t, server.URL, storetest.Cluster, https.Settings{CA: ca})
	last := expect(t, s, statestore.Revision{}, 1)
	if asked, _ := server.Taken(); len(asked) != 2 || asked[0] != "GET manifest 200" {
		t.Errorf("a boot: %q", asked)
	}
	if _, err := s.Fetch(t.Context(), last); !errors.Is(err, statestore.ErrNotModified) {
		t.Errorf("fetched again: %v; want %v", err, statestore.ErrNotModified)
	}
	if asked, sent := server.Taken(); !slices.Equal(asked, []string{"GET manifest 304"}) || sent != 0 {
		t.Errorf("a look: %q with %d bytes", asked, sent)
	}
	memory.Publish(generation(2))
	expect(t, s, last, 2)
	if asked, _ := server.Taken(); len(asked) != 2 {
		t.Errorf("a new generation: %q", asked)
	}
}

// A cache in front of the server keeps all answers. A node gets each new generation all the same,
// and objects, which never change, come from the cache. The line that keeps it: https.go, Get.
func TestACacheInFront(t *testing.T) {
	memory := new(storetest.MapStore)
	kept := map[string]*httptest.ResponseRecorder{}
	settings, _, ca := serverTLS(t, "127.0.0.1")
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1.4
		answer := kept[r.URL.Path]
		if answer == nil || r.Header.Get("Cache-Control") == "no-cache" {
			answer = httptest.NewRecorder()
			toxic.Files(memory).ServeHTTP(answer, r)
			kept[r.URL.Path] = answer
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}), settings)
	memory.Publish(generation(1))
	s := open(t, server.URL, storetest.Cluster, https.Settings{CA: ca})
	last := expect(t, s, statestore.Revision{}, 1)
	memory.Publish(generation(2))
	expect(t, s, last, 2)
	memory.Gets()
	expect(t, open(t, server.URL, storetest.Cluster, https.Settings{CA: ca}), statestore.Revision{}, 2)
	if asked := memory.Gets(); !slices.Equal(asked, []string{"manifest"}) {
		t.Errorf("another node: the server was asked for %q", asked)
	}
}

// file writes a file of the test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serverTLS returns the TLS settings of a server with a certificate of a new authority. The file ca
// has the authority's certificate.
func serverTLS(t *testing.T, at ...string) (settings *tls.Config, authority *pki.Authority, ca string) {
	t.Helper()
	authority = pki.New(t, "store")
	return tlsOf(t, authority.Server("store", at...)), authority, file(t, "ca.pem", authority.PEM)
}

func tlsOf(t *testing.T, server pki.Pair) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(server.Cert), []byte(server.Key))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func open(t *testing.T, location, cluster string, settings https.Settings) statestore.Store {
	t.Helper()
	s, err := stores.Open(location, cluster, stores.Options{HTTPS: settings})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		memory := new(storetest.MapStore)
		settings, _, ca := serverTLS(t, "127.0.0.1")
		server := toxic.New(t, toxic.Files(memory), settings)
		return memory.Harness(true, func(t *testing.T, cluster string) statestore.Store {
			return open(t, server.URL, cluster, https.Settings{CA: ca})
		})
	})
}

func TestRefusedURLs(t *testing.T) {
	for location, want := range map[string]string{
		"https://me:secret@host/x":    "storeTokenFile",
		"https:///x":                  "names no host",
		"https://host/x?token=secret": "query",
		"https://host/x#secret":       "fragment",
		"https://host:x%zz/secret":    "does not parse",
		"http://host/x":               `no scheme "http"`,
	} {
		_, err := stores.Open(location, "c", stores.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", location, err, want)
		}
	}
	if _, err := https.New(&url.URL{Scheme: "https", Host: "h"}, "c", https.Settings{Cert: "/x"}); err == nil || !strings.Contains(err.Error(), "storeKey") {
		t.Errorf("a certificate without its key: %v", err)
	}
}

// A server may ask for the client's identity. The client shows a token or a certificate, which may
// be renewed at any time.
func TestIdentity(t *testing.T) {
	memory := new(storetest.MapStore)
	memory.Publish(storetest.Publication(1, map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")}, true))
	settings, authority, ca := serverTLS(t, "127.0.0.1")
	settings.ClientAuth = tls.RequestClientCert
	wanted := "one"
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		byName := len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].Subject.CommonName == wanted
		if r.Header.Get("Authorization") != "Bearer "+wanted && !byName {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		toxic.Files(memory).ServeHTTP(w, r)
	}), settings)

	one, two := authority.Client("one"), authority.Client("two")
	cert, key, token := file(t, "cert.pem", one.Cert), file(t, "key.pem", one.Key), file(t, "token", "one\n")
	for name, c := range map[string]struct {
		files https.Settings
		renew func()
	}{
		"token": {https.Settings{CA: ca, TokenFile: token}, func() { rewrite(t, token, "two") }},
		"certificate": {https.Settings{CA: ca, Cert: cert, Key: key}, func() {
			rewrite(t, key, two.Key)
			rewrite(t, cert, two.Cert+"\n")
		}},
	} {
		wanted = "one"
		s := open(t, server.URL, storetest.Cluster, c.files)
		if _, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil {
			t.Errorf("%s: Fetch returns %v", name, err)
		}
		wanted = "two"
		server.Taken()
		for range 2 { // the identity expires in between
			_, err := s.Fetch(t.Context(), statestore.Revision{})
			if err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "403 Forbidden: let this node read it: the agent sends the "+name) {
				t.Errorf("%s: Fetch returns %v", name, err)
			}
		}
		if asked, _ := server.Taken(); len(asked) != 2 {
			t.Errorf("%s: Taken returns %q", name, asked)
		}
		c.renew()
		if _, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil {
			t.Errorf("renewed %s: %v", name, err)
		}
	}
}

// A redirect to another spelling of the store's host is followed, with the token.
//
// The lines that keep it: https.go home, server.
func TestRedirectToAnotherSpelling(t *testing.T) {
	memory := new(storetest.MapStore)
	memory.Publish(generation(1))
	settings, _, ca := serverTLS(t, "localhost", "127.0.0.1")
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch rest, first := strings.CutPrefix(r.URL.Path, "/first"); {
		case first:
			http.Redirect(w, r, "https://localhost:"+port(r.Host)+rest, http.StatusFound)
		case r.Header.Get("Authorization") != "Bearer one":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			toxic.Files(memory).ServeHTTP(w, r)
		}
	}), settings)
	at := "https://LocalHost:" + port(strings.TrimPrefix(server.URL, "https://")) + "/first"
	expect(t, open(t, at, storetest.Cluster, https.Settings{CA: ca, TokenFile: file(t, "token", "one\n")}), statestore.Revision{}, 1)
}

func port(host string) string { return host[strings.LastIndex(host, ":")+1:] }

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The error names a file that is absent or wrong, and does not print its content.
func TestFilesThatAreWrong(t *testing.T) {
	secret, pair := file(t, "wrong", "secret but\nno PEM"), pki.New(t, "x").Client("y")
	large := file(t, "large", strings.Repeat("x", 1<<20+1))
	for want, files := range map[string]https.Settings{
		"storeCA /none: no such file":                                       {CA: "/none"},
		"storeCA " + secret + " has no certificate":                         {CA: secret},
		"storeCert /none: no such file":                                     {Cert: "/none", Key: secret},
		"are no pair":                                                       {Cert: secret, Key: secret},
		"storeKey /none: no such file":                                      {Cert: file(t, "c", pair.Cert), Key: "/none"},
		"storeTokenFile /none: no such file":                                {TokenFile: "/none"},
		"storeTokenFile " + secret + " has no token":                        {TokenFile: secret},
		"storeTokenFile /dev/zero: expected a regular file, found a device": {TokenFile: "/dev/zero"},
		"storeTokenFile " + large + " has more than 1048576":                {TokenFile: large},
	} {
		_, err := open(t, "https://127.0.0.1:1", "c", files).Fetch(t.Context(), statestore.Revision{})
		if err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v; want %q", err, want)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v: reads as an answer of the store, which nobody asked", err)
		}
	}
}

// A download of an asset that breaks off continues at the same place, if the asset is still the
// same.
func TestAssetResumes(t *testing.T) {
	memory := new(storetest.MapStore)
	settings, _, ca := serverTLS(t, "127.0.0.1")
	server := toxic.New(t, toxic.Files(memory), settings)
	s := open(t, server.URL, storetest.Cluster, https.Settings{CA: ca})
	content := bytes.Repeat([]byte("0123456789"), 1<<20)
	memory.Set("assets/a", content)

	once := func(then func()) toxic.Fault {
		first := true
		return func(w http.ResponseWriter, r *http.Request, honest http.Handler) {
			if first {
				first = false
				toxic.Half(w, r, honest)
				return
			}
			then()
			honest.ServeHTTP(w, r)
		}
	}
	for name, c := range map[string]struct {
		then func()
		ok   bool
	}{
		"same object":    {func() {}, true},
		"another object": {func() { memory.Set("assets/a", bytes.Repeat([]byte("x"), len(content))) }, false},
	} {
		memory.Set("assets/a", content)
		server.Fail(once(c.then))
		server.Taken()
		body, size, err := s.Open(t.Context(), "assets/a")
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%s: Open returns %d, %v", name, size, err)
		}
		got, err := io.ReadAll(body)
		if err := errors.Join(body.Close()); err != nil {
			t.Error(err)
		}
		asked, _ := server.Taken()
		switch {
		case c.ok && (err != nil || !bytes.Equal(got, content)):
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		case c.ok && !slices.Equal(asked, []string{"GET a 200", "GET a 206"}):
			t.Errorf("%s: asked %q, want GET a 200 and GET a 206", name, asked)
		case !c.ok && !graph.IsTransient(err):
			t.Errorf("%s: %d bytes, %v; want a transient error", name, len(got), err)
		}
	}
}
