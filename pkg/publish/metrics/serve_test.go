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

// Any user of the host may connect. Connections must not take the descriptors and the memory with
// which the agent repairs the host, and must not keep a scraper away. The lines that keep it:
// serve.go, changed.
func TestConnectionsAreBounded(t *testing.T) {
	listening, ended := make(chan net.Addr, 1), make(chan struct{})
	s := &Server{Metrics: New("v1", nil), Address: "127.0.0.1:0", Log: zap.NewNop(), Listening: func(a net.Addr) { listening <- a }}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { s.Run(ctx); close(ended) }()
	at := (<-listening).String()
	open := func(text string) net.Conn {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // the server may have closed the connection
		return conn
	}
	const begin, rest = "GET /metrics HTTP/1.1\r\nHost: x\r\n", "\r\n"
	var held []net.Conn
	for range maxClients {
		held = append(held, open(begin))
	}
	next := open(begin + rest)
	defer next.Close()
	if _, err := io.ReadFull(next, make([]byte, 12)); err != nil {
		t.Errorf("one client more is not served: %v", err)
	}
	if n, err := held[0].Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("the first client, with half a request, reads %d bytes, %v; want the end of its connection", n, err)
	}
	for i, conn := range held[1:] {
		_, _ = io.WriteString(conn, rest)
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
			t.Errorf("client %d is not served: %v", i+1, err)
		}
	}
	for _, conn := range held {
		conn.Close()
	}
	cancel(errors.New("enough"))
	<-ended
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
