package https_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/test/storetest"
	"github.com/netwright/netwright/test/toxic"
)

// outcome is the result of a store during a fault.
type outcome struct {
	text      string // in the error; "": there is no error
	transient bool
	requests  int // of the first call, at most, and later calls cost no more. Package net/http adds one where a kept connection breaks
}

var fine = outcome{requests: 2}

// The faults of a server for a node at its boot, and in a look when a new generation is there. No
// snapshot is ever wrong, and each fault causes one message. When the fault is over, the node gets
// the new generation without a restart.
func TestToxic(t *testing.T) {
	var table toxic.Table
	t.Cleanup(func() { t.Log("\n" + table.String()) })
	for _, c := range []struct {
		name       string
		fault      toxic.Fault
		boot, poll outcome
	}{
		{"latency of 300 ms", toxic.Late(300 * time.Millisecond), fine, fine},
		{"reset", toxic.Reset, outcome{"", true, 3}, outcome{"", true, 4}},
		{"half of the manifest, then reset", toxic.Half, outcome{"after ", true, 3}, outcome{"after ", true, 3}},
		{"half of each object, then reset", toxic.Objects(toxic.Half), outcome{"after ", true, 4}, outcome{"after ", true, 4}},
		{"half of the manifest as if it were all", toxic.Short, outcome{"decode manifest", false, 1}, outcome{"decode manifest", false, 1}},
		{"half of each object as if it were all", toxic.Objects(toxic.Short), outcome{"is not what the manifest says", false, 2}, outcome{"is not what the manifest says", false, 2}},
		{"more than there is", toxic.Objects(toxic.Long), outcome{"the expected maximum", false, 2}, outcome{"the expected maximum", false, 2}},
		{"endless manifest", toxic.Long, outcome{"the expected maximum", false, 1}, outcome{"the expected maximum", false, 1}},
		{"other bytes of the same length", toxic.Swapped, outcome{"what is read as its manifest begins with", false, 1}, outcome{"what is read as its manifest begins with", false, 1}},
		{"other bytes in each object", toxic.Objects(toxic.Swapped), outcome{"is not what the manifest says", false, 2}, outcome{"is not what the manifest says", false, 2}},
		{"nothing is ever modified", toxic.Unmodified, outcome{"304", false, 1}, outcome{"not modified", false, 1}},
		{"a new ETag each time", toxic.NewETags, fine, fine},
		{"no ETags", toxic.NoETags, fine, fine},
		{"400", toxic.Status(400, 0), outcome{"400 Bad Request: set store", false, 1}, outcome{"400 Bad Request", false, 1}},
		{"401", toxic.Status(401, 0), outcome{"401 Unauthorized: let this node read it", false, 1}, outcome{"401 Unauthorized", false, 1}},
		{"403", toxic.Status(403, 0), outcome{"403 Forbidden: let this node read it", false, 1}, outcome{"403 Forbidden", false, 1}},
		{"403 for each object", toxic.Objects(toxic.Status(403, 0)), outcome{"if the server serves a directory, let the server's user read the file there: a private key is published with mode 0600", false, 2}, outcome{"403 Forbidden", false, 2}},
		{"404", toxic.Status(404, 0), outcome{"there is no published cluster", false, 4} /* three are for kOps' names */, outcome{"there is no published cluster", false, 1}},
		{"404 for each object", toxic.Objects(toxic.Status(404, 0)), outcome{"publish again, the manifest last", false, 3}, outcome{"publish again, the manifest last", false, 3}},
		{"429", toxic.Status(429, 0), outcome{"429", true, 3}, outcome{"429", true, 3}},
		{"429, again in an hour", toxic.Status(429, 3600), outcome{"429", true, 1}, outcome{"429", true, 1}},
		{"500", toxic.Status(500, 0), outcome{"500", true, 3}, outcome{"500", true, 3}},
		{"503", toxic.Status(503, 0), outcome{"503", true, 3}, outcome{"503", true, 3}},
		{"503 for each object", toxic.Objects(toxic.Status(503, 0)), outcome{"503", true, 4}, outcome{"503", true, 4}},
		{"page of a captive portal", toxic.Portal, outcome{"what is read as its manifest begins with", false, 1}, outcome{"what is read as its manifest begins with", false, 1}},
		{"redirect to another host", toxic.Elsewhere("https://portal.example.com/login"), outcome{"redirected to https://portal.example.com", false, 1}, outcome{"redirected to", false, 1}},
		{"redirect to plain http", toxic.Elsewhere("http://127.0.0.1/"), outcome{"redirected to http://", false, 1}, outcome{"redirected to", false, 1}},
		{"redirects without end", toxic.Elsewhere("/again"), outcome{"more than 3 redirects", false, 4}, outcome{"more than 3 redirects", false, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			memory := new(storetest.MapStore)
			settings, _, ca := serverTLS(t, "127.0.0.1")
			server := toxic.New(t, toxic.Files(memory), settings)
			memory.Publish(generation(1))
			running := open(t, server.URL, storetest.Cluster, https.Settings{CA: ca})
			last := expect(t, running, statestore.Revision{}, 1)
			memory.Publish(generation(2))
			server.Fail(c.fault)
			for _, at := range []struct {
				when  string
				store statestore.Store
				last  statestore.Revision
				want  outcome
			}{{"boot", open(t, server.URL, storetest.Cluster, https.Settings{CA: ca}), statestore.Revision{}, c.boot}, {"poll", running, last, c.poll}} {
				server.Taken()
				got, err := at.store.Fetch(t.Context(), at.last)
				asked, _ := server.Taken()
				at.want.hold(t, got, err, len(asked))
				table.Add(c.name, at.when, len(asked), err)
				for range 3 {
					_, _ = at.store.Fetch(t.Context(), at.last)
				}
				if again, _ := server.Taken(); len(again) > 3*at.want.requests {
					t.Errorf("three more looks: %d requests", len(again))
				}
			}
			server.Fail(nil)
			if c.name == "429, again in an hour" {
				return // the pause is an hour
			}
			expect(t, running, last, 2)
		})
	}
}

func (o outcome) hold(t *testing.T, got *statestore.Snapshot, err error, requests int) {
	t.Helper()
	switch {
	case requests > o.requests:
		t.Errorf("%d requests, at most %d are wanted", requests, o.requests)
	case o == fine && (err != nil || got.Generation != 2):
		t.Errorf("%v, %v; want generation 2", got, err)
	case o != fine && (err == nil || got != nil || graph.IsTransient(err) != o.transient || !strings.Contains(err.Error(), o.text)):
		t.Errorf("%v, %v (transient %t); want an error with %q", got, err, graph.IsTransient(err), o.text)
	case o != fine && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "file does not exist")):
		t.Errorf("more than one line, or about a file: %v", err)
	}
}

// generation returns a publication whose document has the number of its generation.
func generation(n int64) map[string][]byte {
	text := strings.Repeat(fmt.Sprintf("# generation %d\n", n), 100)
	return storetest.Publication(n, map[string][]byte{"cluster.yaml": []byte(text), "nodes/n.yaml": []byte(text)}, true)
}

// expect fetches a generation that must be there.
func expect(t *testing.T, s statestore.Store, last statestore.Revision, n int64) statestore.Revision {
	t.Helper()
	got, err := s.Fetch(t.Context(), last)
	if err != nil || got.Generation != n {
		t.Fatalf("%v, %v; want generation %d", got, err, n)
	}
	return got.Revision
}

// These are wrong certificates of a server, and a wrong clock.
func TestToxicTLS(t *testing.T) {
	memory := new(storetest.MapStore)
	memory.Publish(generation(1))
	good, _, ca := serverTLS(t, "127.0.0.1")
	other, _, otherCA := serverTLS(t, "store.example.com")
	_, authority, expiredCA := serverTLS(t, "127.0.0.1")
	expired := tlsOf(t, authority.ExpiredServer("store", "127.0.0.1"))
	for name, c := range map[string]struct {
		settings  *tls.Config
		ca, text  string
		transient bool
	}{
		"another name":           {other, otherCA, "use the name that the server's certificate has", false},
		"expired":                {expired, expiredCA, "look at this machine's clock", true},
		"unknown CA":             {good, otherCA, "put the PEM of the server's CA into " + otherCA, false},
		"the machine's CAs":      {good, "", "install the server's CA", false},
		"TLS 1.1":                {&tls.Config{Certificates: good.Certificates, MaxVersion: tls.VersionTLS11}, ca, "protocol version", false},
		"no certificate of ours": {&tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAnyClientCert}, ca, "whether it requires a client certificate", false},
	} {
		server := toxic.New(t, toxic.Files(memory), c.settings)
		got, err := open(t, server.URL, storetest.Cluster, https.Settings{CA: c.ca}).Fetch(t.Context(), statestore.Revision{})
		if got != nil || err == nil || graph.IsTransient(err) != c.transient || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v (transient %t); want %q", name, err, graph.IsTransient(err), c.text)
		}
		if asked, _ := server.Taken(); len(asked) > 0 {
			t.Errorf("%s: it was asked for %q", name, asked)
		}
	}
}
