package prober

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/pki"
)

// A store has answered if it refuses the request, or if a client without its CA refuses it. A store
// that sends nothing has not answered, before or after its certificate, nor has one that is not
// there. A store that the agent's own file no longer allows is lost. The lines that keep it:
// prober.go, askStore (answered, Open); pkg/cli/open_store.go, Open (Means).
func TestAskStore(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts the connection, and no server answers
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	over := make(chan struct{})
	tlsServer := func(serve http.HandlerFunc) (at, ca string) {
		s := httptest.NewUnstartedServer(serve)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		ca = filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.URL, ca
	}
	hangs, itsCA := tlsServer(func(http.ResponseWriter, *http.Request) { <-over })
	refuses, refusersCA := tlsServer(http.NotFound)
	t.Cleanup(func() { close(over) }) // before the servers end
	if err := os.WriteFile(itsCA+".other", []byte(pki.New(t, "another").PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewTLSServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		at      string
		by      *stores.Options // nil: a client without settings asks
		answers bool
	}{
		"silent":                              {"https://" + mute.Addr().String(), nil, false},
		"silent after the handshake":          {hangs, withCA(itsCA), false},
		"hangs, with the CA unknown here":     {hangs, nil, true},
		"answers with an error":               {refuses, withCA(refusersCA), true},
		"has another CA than the node's file": {refuses, withCA(itsCA + ".other"), false},
		"the file with the CA is missing":     {refuses, withCA(itsCA + ".gone"), false},
		"no server listens":                   {gone.URL, nil, false},
		"a directory that is absent":          {t.TempDir() + "/gone", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Second
			if c.answers {
				limit = time.Minute // only so that a test that hangs ends
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("no answer"))
			defer cancel()
			if err := askStore(ctx, c.at, "c.example.com", c.by); (err == nil) != c.answers {
				t.Errorf("%v, want an answer: %v", err, c.answers)
			}
		})
	}
}

func withCA(file string) *stores.Options {
	return &stores.Options{HTTPS: https.Settings{CA: file}}
}
