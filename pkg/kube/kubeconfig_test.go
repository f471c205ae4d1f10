package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/netwright/netwright/test/pki"
)

// A new token in a kubeconfig needs no restart of the agent. The lines that keep it: kubeconfig.go,
// Client.
func TestAKubeconfigIsReadAgain(t *testing.T) {
	k := &Kubeconfig{Path: filepath.Join(t.TempDir(), "kubeconfig")}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(k.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(token string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://%s.example.com'}}]\nusers: [{name: u, user: {token: %s}}]\n"+
			"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", token, token)
	}
	if _, err := k.Client(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is there: %v", err)
	}
	write("a: [")
	if c, err := k.Client(); c != nil || err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is none: %v, %v", c, err)
	}
	write(with("first"))
	first, err := k.Client()
	if err != nil || first.Server() != "first.example.com" {
		t.Fatalf("Client returns %v, %v", first, err)
	}
	if again, err := k.Client(); again != first || err != nil {
		t.Errorf("one that has not changed is opened again (%v)", err)
	}
	write(with("second")[:40])
	if half, err := k.Client(); half != first || err != nil {
		t.Errorf("one that is being written: %v, %v", half, err)
	}
	write(with("second"))
	if second, err := k.Client(); err != nil || second.Server() != "second.example.com" {
		t.Errorf("Client returns %v, %v", second, err)
	}
	if err := os.Remove(k.Path); err != nil {
		t.Fatal(err)
	}
	if c, err := k.Client(); c != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that was taken away: %v, %v", c, err)
	}
}

// A new CA file beside a kubeconfig needs no restart of the agent. The CAs of the API are those of
// the file, or the former ones while the file is absent or wrong. An unchanged file is not opened
// again. The lines that keep it: kubeconfig.go, Client, current and Open.
func TestACABesideAKubeconfigIsReadAgain(t *testing.T) {
	first, next := pki.New(t, "first").PEM, pki.New(t, "next").PEM
	for name, o := range map[string]Options{"shared": {}, "own connections": {OwnConnections: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k, ca := &Kubeconfig{Path: filepath.Join(dir, "kubeconfig"), Options: o}, filepath.Join(dir, "ca.crt")
			write(t, k.Path, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], "+
				"clusters: [{name: k, cluster: {server: 'https://x', certificate-authority: ca.crt}}]}")
			says := func(what string) *Client {
				t.Helper()
				c, err := k.Client()
				if err != nil || string(c.Authorities()) != what {
					t.Fatalf("%v: it has the CAs\n%s", err, c.Authorities())
				}
				return c
			}
			write(t, ca, first)
			one := says(first)
			if says(first) != one {
				t.Error("it is opened again, and nothing has changed")
			}
			for _, half := range []string{"", next[:40]} {
				write(t, ca, half)
				says(first)
			}
			if err := os.Rename(ca, ca+".old"); err != nil {
				t.Fatal(err)
			}
			says(first)
			write(t, ca, first+next)
			says(first + next)
		})
	}
}

// If a kubeconfig names a proxy, all connections to the API use it, also those that the client
// makes itself. The lines that keep it: kubeconfig.go, ownTransport.
func TestAKubeconfigsProxyIsTaken(t *testing.T) {
	for name, o := range map[string]Options{"shared": {}, "own connections": {OwnConnections: true}} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Value
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Store(r.URL.String())
				say(w, http.StatusOK, "{}")
			}))
			defer proxy.Close()
			path := filepath.Join(t.TempDir(), "kubeconfig")
			write(t, path, fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], "+
				"clusters: [{name: k, cluster: {server: 'http://api.invalid', proxy-url: %q}}]}", proxy.URL))
			c, err := Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Answer(t.Context(), 1); err != nil || asked.Load() != "http://api.invalid"+description {
				t.Errorf("the proxy was asked for %v: %v", asked.Load(), err)
			}
		})
	}
}
