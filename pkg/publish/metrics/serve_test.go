package metrics

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/model/network"
)

// If another program has the address, that is reported once, and the metrics are served when the
// address is free. The end of the context ends the server.
func TestAnAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	listening, ended := make(chan net.Addr, 1), make(chan struct{})
	s := &Server{Metrics: New("v1", nil), Address: taken.Addr().String(), Log: zap.New(core), Listening: func(a net.Addr) { listening <- a }}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { s.Run(ctx); close(ended) }()
	for logs.Len() == 0 {
		select {
		case <-listening:
			t.Fatal("it serves at an address that somebody else has")
		case <-t.Context().Done():
		default:
		}
	}
	if said := logs.All()[0]; said.Level != zap.WarnLevel || !strings.Contains(said.Message, "all else goes on") {
		t.Errorf("it says %v", said)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	at := (<-listening).String()
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound, "/debug/vars": http.StatusNotFound} {
		if code, body := get(t, "http://"+at+path); code != want || want == http.StatusOK && !strings.Contains(body, "process_resident_memory_bytes ") {
			t.Errorf("%s: %d, want %d\n%s", path, code, want, body)
		}
	}
	response, err := http.Post("http://"+at+"/metrics", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", response.Status)
	}
	cancel(errors.New("enough"))
	<-ended
	if n := logs.FilterLevelExact(zap.WarnLevel).Len(); n != 1 {
		t.Errorf("it warned %d times: %v", n, logs.All())
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// No network uses the port, and the kernel gives it to no program.
func TestTheDefaultPort(t *testing.T) {
	address, err := net.ResolveTCPAddr("tcp", DefaultAddress)
	if err != nil || !address.IP.IsLoopback() || address.Port >= 30000 { // NodePorts begin there
		t.Fatalf("ResolveTCPAddr returns %v, %v", address, err)
	}
	for _, n := range network.All() {
		for _, p := range n.Ports {
			if p.Port == address.Port {
				t.Errorf("%s has port %d: %s", n.Name, p.Port, p.Use)
			}
		}
	}
}
