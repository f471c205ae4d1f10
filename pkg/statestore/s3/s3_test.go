package s3_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/s3"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/s3server"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// account sets the environment to an account of a server, and removes this machine's settings for
// AWS.
func account(t *testing.T, endpoint, access, secret string) {
	t.Helper()
	for name, value := range map[string]string{
		"S3_ENDPOINT": endpoint, "S3_REGION": "us-east-1", "S3_ACCESS_KEY_ID": access, "S3_SECRET_ACCESS_KEY": secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CA_BUNDLE": "", "NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
}

func open(t *testing.T, location, cluster string, o stores.Options) statestore.Store {
	t.Helper()
	s, err := stores.Open(location, cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sink returns the destination to which a test publishes.
func sink(t *testing.T, location string) objectstore.Destination {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	s, err := s3.New(u, storetest.Cluster, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// publish writes a generation to a sink: the objects that are not there, and the manifest last.
func publish(t *testing.T, to objectstore.Destination, publication map[string][]byte) {
	t.Helper()
	for name, data := range publication {
		if name != "manifest" {
			if err := to.Put(t.Context(), name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	now, err := to.Get(t.Context(), "manifest", "", 1<<20)
	if err == nil || now.ETag == "" {
		err = to.Replace(t.Context(), "manifest", publication["manifest"], now.ETag)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestConforms(t *testing.T) {
	server := s3server.Start(t)
	account(t, server.URL, s3server.Access, s3server.Secret)
	n := 0
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		n++
		bucket := "suite-" + string(rune('a'+n))
		server.Bucket(bucket)
		location, generation := "s3://"+bucket+"/some/prefix", int64(0)
		var last, published map[string][]byte
		return storetest.Harness{
			Open: func(t *testing.T, cluster string) statestore.Store {
				return open(t, location, cluster, stores.Options{})
			},
			Publish: func(t *testing.T, objects map[string][]byte) {
				generation++
				last, published = objects, storetest.Publication(generation, objects, true)
				publish(t, sink(t, location), published)
			},
			Tear: func(t *testing.T, objects map[string][]byte) {
				for name, data := range storetest.Publication(generation+1, objects, true) {
					if name != "manifest" {
						server.Put(bucket, "some/prefix/"+storetest.Cluster+"/"+name, data)
					}
				}
			},
			PutAsset: func(_ *testing.T, name string, size int64, fill byte) {
				server.Put(bucket, "some/prefix/"+storetest.Cluster+"/"+name, bytes.Repeat([]byte{fill}, int(size)))
			},
			Tamper: func(_ *testing.T, name string) {
				for at, data := range storetest.Tampered(published, last[name]) {
					server.Put(bucket, "some/prefix/"+storetest.Cluster+"/"+at, data)
				}
			},
		}
	})
}

// counted returns a server between the agent and another server. It counts requests, and misbehaves
// if the test asks for that.
func counted(t *testing.T, server *s3server.Server) *toxic.Server {
	t.Helper()
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return toxic.New(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature includes it
	}}, nil)
}

// trust returns options with a file that has the certificate of a test's server.
func trust(t *testing.T, server *toxic.Server) stores.Options {
	t.Helper()
	o := stores.Options{}
	o.HTTPS.CA = file(t, pemOf(server.Certificate()))
	return o
}

// The requests of a boot, a poll and a new generation, counted before a real server.
func TestRequests(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	between := counted(t, server)
	objects := map[string][]byte{
		"cluster.yaml": []byte("kind: Cluster\n"), "nodes/n1.yaml": bytes.Repeat([]byte("# one\n"), 1000), "pki/issued/a/1.crt": []byte("certificate"),
		"pki/private/a/1.key": []byte("key a"), "pki/private/b/1.key": []byte("key b"), "files/motd": []byte("hello"),
	}
	account(t, server.URL, s3server.Access, s3server.Secret)
	publish(t, sink(t, "s3://fleet"), storetest.Publication(1, objects, true))

	account(t, between.URL, s3server.Access, s3server.Secret)
	s := open(t, "s3://fleet", storetest.Cluster, trust(t, between))
	var last statestore.Revision
	step := func(what string, requests int, body bool, do func() error) {
		t.Helper()
		if err := do(); err != nil && !errors.Is(err, statestore.ErrNotModified) {
			t.Errorf("%s: the error is %v", what, err)
		}
		asked, sent := between.Taken()
		if len(asked) != requests || (sent > 0) != body {
			t.Errorf("%s: %d requests with %d bytes: %q; want %d", what, len(asked), sent, asked, requests)
		}
		t.Logf("%-34s %d requests, %5d bytes", what, len(asked), sent)
	}
	var snapshot *statestore.Snapshot
	fetch := func() (err error) {
		got, err := s.Fetch(t.Context(), last)
		if err == nil {
			snapshot, last = got, got.Revision
		}
		return err
	}
	step("boot", 2, true, fetch)
	step("one private key", 1, true, func() error { return snapshot.FetchKeys("a") })
	step("poll", 1, false, fetch)
	step("poll again", 1, false, fetch)
	objects["nodes/n1.yaml"] = []byte("# two\n")
	objects["cluster.yaml"] = []byte("kind: Cluster # two\n")
	account(t, server.URL, s3server.Access, s3server.Secret)
	publish(t, sink(t, "s3://fleet"), storetest.Publication(2, objects, true))
	step("new generation", 2, true, fetch)
	if last.Generation != 2 {
		t.Errorf("last is %+v", last)
	}
}

// Of two publishers at once one wins, and the other gets an error that says so.
func TestTwoPublishers(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	one := sink(t, "s3://fleet")
	race := func() (won int) {
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			all.Go(func() { errs[i] = sink(t, "s3://fleet").Replace(t.Context(), "manifest", []byte{byte('0' + i)}, "") })
		}
		all.Wait()
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, objectstore.ErrConflict) || graph.IsTransient(err) {
				t.Errorf("lost: %v", err)
			}
		}
		return won
	}
	if won := race(); won != 1 {
		t.Errorf("%d made the first manifest", won)
	}
	first, err := one.Get(t.Context(), "manifest", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	// This server compares before it writes, and not in one step. Of several writers at the same
	// moment two may win. AWS' server does not allow that.
	if err := one.Replace(t.Context(), "manifest", []byte("next"), first.ETag); err != nil {
		t.Error(err)
	}
	if err := one.Replace(t.Context(), "manifest", []byte("late"), first.ETag); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("a stale ETag: %v", err)
	}
	if err := one.Replace(t.Context(), "none", []byte("x"), first.ETag); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("an ETag of nothing: %v", err)
	}
	for range 2 {
		if err := one.Put(t.Context(), "objects/a", []byte("first")); err != nil {
			t.Error(err)
		}
	}
	if err := one.Put(t.Context(), "objects/a", []byte("later")); err != nil {
		t.Error(err)
	}
	if got, err := one.Get(t.Context(), "objects/a", "", 10); err != nil || string(got.Body) != "first" {
		t.Errorf("what was there has become %q, %v", got.Body, err)
	}
}

// A store at one version of its manifest does not change.
func TestVersion(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	var versions []string
	for n := range int64(2) {
		for name, data := range storetest.Publication(n+1, map[string][]byte{"cluster.yaml": {byte('0' + n)}}, true) {
			if version := server.Put("fleet", storetest.Cluster+"/"+name, data); name == "manifest" {
				versions = append(versions, version)
			}
		}
	}
	for i, version := range versions {
		s := open(t, "s3://fleet?versionId="+url.QueryEscape(version), storetest.Cluster, stores.Options{})
		got, err := s.Fetch(t.Context(), statestore.Revision{})
		if err != nil || got.Generation != int64(i+1) {
			t.Errorf("version %s: %v, %v", version, got, err)
			continue
		}
		if _, err := s.Fetch(t.Context(), got.Revision); !errors.Is(err, statestore.ErrNotModified) {
			t.Errorf("fetched again: %v; want %v", err, statestore.ErrNotModified)
		}
	}
}

// The server's own answers to wrong requests.
// A manifest that somebody removed from a bucket with versions is restored without its delete
// marker. A reader says so. A publisher says so too if the server does not take the manifest again,
// and does not speak of another publisher. The lines that keep it: errors.go, explain;
// destination.go, Replace.
func TestRemovedManifest(t *testing.T) {
	const marker = "remove its delete marker"
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	to := sink(t, "s3://fleet")
	of := publisher.Publication{Cluster: storetest.Cluster, Objects: map[string][]byte{"cluster.yaml": []byte("1")}, Now: time.Now()}
	if _, err := publisher.Publish(t.Context(), to, of); err != nil {
		t.Fatal(err)
	}
	if err := to.Remove(t.Context(), "manifest"); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, "s3://fleet", storetest.Cluster, stores.Options{}).Fetch(t.Context(), statestore.Revision{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), marker) {
		t.Errorf("a reader: %v", err)
	}
	// AWS takes it. This server does not.
	if _, err := publisher.Publish(t.Context(), to, of); err == nil || errors.Is(err, objectstore.ErrConflict) || !strings.Contains(err.Error(), marker) {
		t.Errorf("a publisher: %v", err)
	}
}

func TestRefused(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	for _, c := range []struct{ location, access, secret, want string }{
		{"s3://fleet", s3server.Access, "wrong", "403 SignatureDoesNotMatch"},
		{"s3://none", s3server.Access, s3server.Secret, "404 NoSuchBucket"},
		{"s3://fleet/none", s3server.Access, s3server.Secret, "there is no published cluster"},
	} {
		account(t, server.URL, c.access, c.secret)
		_, err := open(t, c.location, storetest.Cluster, stores.Options{}).Fetch(t.Context(), statestore.Revision{})
		if err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s as %s: %v; want %q", c.location, c.access, err, c.want)
		}
	}
}

func TestRefusedURLs(t *testing.T) {
	for location, want := range map[string]string{
		"s3://key:secret@b/x":    "give the machine a role",
		"s3:///x":                "names no bucket",
		"s3://b:80/x":            "names no bucket",
		"s3://b/x?token=secret":  "?token= is unknown",
		"s3://b/x?Region=secret": "?Region= is unknown",
	} {
		_, err := stores.Open(location, "c", stores.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", location, err, want)
		}
	}
	for want, ca := range map[string]string{"storeCA /none: no such file": "/none", "storeCA /: expected a regular file, found a directory": "/"} {
		_, err := open(t, "s3://b", "c", stores.Options{HTTPS: https.Settings{CA: ca}}).Fetch(t.Context(), statestore.Revision{})
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q, and nothing of a store that nobody asked", err, want)
		}
	}
	s := open(t, "s3://b/x/y/?region=eu-west-1&kmsKey=k", "c", stores.Options{})
	if s.String() != "s3://b/x/y/c" {
		t.Errorf("it is called %s", s)
	}
}

// Written objects are encrypted with the key that the URL names.
func TestKMS(t *testing.T) {
	var got http.Header
	server := toxic.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }), nil)
	account(t, server.URL, "a", "b")
	u, err := url.Parse("s3://b?kmsKey=arn:aws:kms:eu-west-1:1:key/2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := s3.New(u, "c", trust(t, server).HTTPS.CA)
	if err == nil {
		err = s.Replace(t.Context(), "manifest", []byte("x"), "")
	}
	want := []string{"aws:kms", "arn:aws:kms:eu-west-1:1:key/2", "*"}
	if has := []string{got.Get("x-amz-server-side-encryption"), got.Get("x-amz-server-side-encryption-aws-kms-key-id"), got.Get("If-None-Match")}; err != nil || !slices.Equal(has, want) {
		t.Errorf("%v, %q, want %q", err, has, want)
	}
}

// What `agent store publish` writes to a real server is what a node reads there.
func TestPublish(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("fleet")
	account(t, server.URL, s3server.Access, s3server.Secret)
	to, err := stores.OpenDestination("s3://fleet/x", storetest.Cluster, stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, "s3://fleet/x", storetest.Cluster, stores.Options{})
	for n := range int64(3) {
		text := strings.Repeat("kind: Cluster\n", int(n)+1)
		if _, err := publisher.Publish(t.Context(), to, publisher.Publication{Cluster: storetest.Cluster, Objects: map[string][]byte{"cluster.yaml": []byte(text), "nodes/n.yaml": nil}, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Fetch(t.Context(), statestore.Revision{}); err != nil || got.Generation != n+1 || string(got.Objects["cluster.yaml"]) != text {
			t.Errorf("Fetch returns %v, %v", got, err)
		}
	}
}
