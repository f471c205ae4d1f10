package kube

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Only a complete answer over a new connection counts, and a refusal is an answer. Half an answer
// does not count. The lines that keep it: kubeconfig.go, ownTransport; client.go, Answer.
func TestAnAnswerComesOverANewConnection(t *testing.T) {
	const limit = 64 << 10
	for name, c := range map[string]struct {
		answers bool
		say     http.HandlerFunc
	}{
		"as much as is asked for": {true, func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(strings.Repeat("x", limit)))
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the client does not wait for the rest
		}},
		"all that there is": {true, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "{}") }},
		"a refusal":         {true, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusUnauthorized, "who?") }},
		"half of it": {false, func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(strings.Repeat("x", limit/2)))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			s := httptest.NewUnstartedServer(c.say)
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			s.StartTLS()
			defer s.Close()
			path := kubeconfig(t, s, "token: secret")
			for range 2 {
				client, err := Open(path, Options{OnlyFiles: true, OwnConnections: true})
				if err != nil {
					t.Fatal(err)
				}
				patience := time.Minute // only so that a test that hangs ends
				if !c.answers {
					patience = time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if err := client.Answer(ctx, limit); (err == nil) != c.answers {
					t.Errorf("err = %v, want an answer: %t", err, c.answers)
				}
			}
			if n := connections.Load(); n != 2 {
				t.Errorf("%d connections for two questions", n)
			}
		})
	}
}
