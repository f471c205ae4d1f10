package probe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A refusal is an answer of an API server. A server that accepts connections and sends no bytes has
// not answered.
func TestAWholeAnswerCounts(t *testing.T) {
	refuses := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refuses.Close()
	stalls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer stalls.Close()
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, no server answers
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	for _, c := range []struct {
		name, address string
		answers       bool
	}{
		{"a refusal", refuses.Listener.Addr().String(), true},
		{"half an answer", stalls.Listener.Addr().String(), false},
		{"no answer", deaf.Addr().String(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := (Prober{}).try(t.Context(), Probe(tcpProbe+":"+c.address)); err != nil {
				t.Errorf("it accepts no connection: %v", err)
			}
			limit := 5 * time.Second
			if c.answers {
				limit = time.Minute // only so that a test that hangs ends
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if err := (Prober{}).try(ctx, Probe(httpsProbe+":"+c.address)); (err == nil) != c.answers {
				t.Errorf("err = %v, want an answer: %t", err, c.answers)
			}
		})
	}
}
