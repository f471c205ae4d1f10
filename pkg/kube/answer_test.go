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

// An answer is one that comes through, over a connection that is new; a refusal is one. Half an
// answer is none. The lines that keep it: kubeconfig.go, ownTransport; client.go, Answer.
func TestAnAnswerComesOverANewConnection(t *testing.T) {
	const limit = 64 << 10
	for name, c := range map[string]struct {
		answers bool
		say     http.HandlerFunc
	}{
		"as much as is asked for": {true, func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(strings.Repeat("x", limit)))
			w.(http.Flusher).Flush()
			<-r.Context().Done() // the rest is not waited for
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
				patience := time.Minute // it only ends what hangs
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
