package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A store has answered that refuses who asks, or whom nobody here believes. One that is silent has not, nor has one that is not there.
// The line that keeps it: undo.go, askStore (answered).
func TestAskStore(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes the connection, and nobody says anything
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	strange := httptest.NewUnstartedServer(http.NotFoundHandler())
	strange.Config.ErrorLog = log.New(io.Discard, "", 0)
	strange.StartTLS()
	defer strange.Close()
	gone := httptest.NewTLSServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		at      string
		answers bool
	}{
		"silent":                     {"https://" + silent.Addr().String(), false},
		"of a CA that nobody knows":  {strange.URL, true},
		"nobody is there":            {gone.URL, false},
		"a directory that is absent": {t.TempDir() + "/gone", false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no answer"))
			defer cancel()
			if err := askStore(ctx, c.at, "c.example.com"); (err == nil) != c.answers {
				t.Errorf("%v, want an answer: %v", err, c.answers)
			}
		})
	}
}
