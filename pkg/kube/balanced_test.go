package kube

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Several API servers are behind one address, and one of them cannot serve. The request after a
// failure goes over a new connection, also while a watch keeps the old one in use. An answer that
// another server would give too keeps the connection, and so does one that asks for a pause. The
// lines that keep it: errors.go, explain and unserved.
func TestAnotherServerIsAskedAfterAFailure(t *testing.T) {
	type number struct{}
	for name, c := range map[string]struct {
		first http.HandlerFunc // of the server that the first connection reaches
		moves bool
	}{
		"500":       {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusInternalServerError, "etcd") }, true},
		"503":       {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusServiceUnavailable, "etcd") }, true},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true},
		"429":       {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusTooManyRequests, "later") }, false},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusForbidden, "no") }, false},
		"not found": {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusNotFound, "none") }, false},
		"conflict":  {func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusConflict, "changed") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			watched := make(chan struct{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch first := r.Context().Value(number{}) == int32(1); {
				case r.URL.Query().Has("watch"):
					w.(http.Flusher).Flush()
					if first {
						close(watched)
					}
					<-r.Context().Done()
				case first:
					c.first(w, r)
				default:
					say(w, http.StatusOK, `{"metadata": {"name": "n"}}`)
				}
			}))
			s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
				return context.WithValue(ctx, number{}, connections.Add(1))
			}
			s.EnableHTTP2 = true
			s.StartTLS()
			t.Cleanup(s.Close)
			client, err := Open(kubeconfig(t, s, "token: secret"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { client.Changed(ctx, Watched{Resource: "nodes"}); close(ended) }()
			defer func() { stop(); <-ended }()
			<-watched
			if _, err = client.Node(t.Context(), "n"); err == nil {
				t.Error("the first answer is no error")
			}
			soon, cancel := context.WithTimeout(t.Context(), time.Minute) // only so that a test that hangs ends
			defer cancel()
			if _, err = client.Node(soon, "n"); (err == nil) != c.moves {
				t.Errorf("the second answer: %v, after %d connections", err, connections.Load())
			}
		})
	}
}
