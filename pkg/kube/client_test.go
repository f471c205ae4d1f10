package kube

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/test/pki"
)

// test/kubernetes has the real server. These tests have its rare answers.

// server answers every request by answer. user has the client's credentials.
func server(t *testing.T, user string, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	c, err := Open(kubeconfig(t, s, user), Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func kubeconfig(t *testing.T, s *httptest.Server, user string) string {
	t.Helper()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	path := filepath.Join(dir, "kubeconfig")
	write(t, path, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
		clusters: [{name: k, cluster: {server: %q, certificate-authority: ca.crt}}], users: [{name: u, user: {%s}}]}`, s.URL, user))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const aNode = `{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/24"}}`

func say(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}

func TestABusyServerIsWaitedFor(t *testing.T) {
	var asked atomic.Int32
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			say(w, http.StatusTooManyRequests, `{"kind": "Status", "apiVersion": "v1", "code": 429, "reason": "TooManyRequests"}`)
			return
		}
		say(w, http.StatusOK, aNode)
	})
	n, err := c.Node(t.Context(), "n")
	if err != nil || fmt.Sprint(n.PodCIDRs) != "[10.1.0.0/24]" || asked.Load() != 3 {
		t.Errorf("%+v, %v, after %d requests", n, err, asked.Load())
	}
}

// A server may ask for a pause that is longer than a request may take. The agent does not wait for
// it. The error says that the server is busy, and for how long. The line that keeps it:
// answer_limits.go, tooBusy.
func TestABusyServerIsNotWaitedForInVain(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		var asked atomic.Int32
		c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "20")
			say(w, code, `{"kind": "Status", "apiVersion": "v1", "code": 429, "reason": "TooManyRequests", "message": "later"}`)
		})
		_, err := c.Node(t.Context(), "n")
		if !graph.IsTransient(err) || asked.Load() != 1 || RetryAfter(err) != 20*time.Second || strings.Contains(err.Error(), "no answer") {
			t.Errorf("%d: %v after %d requests, leave it alone for %s", code, err, asked.Load(), RetryAfter(err))
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	var asked atomic.Int32
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "0")
		say(w, http.StatusServiceUnavailable, "no")
	})
	_, err := c.Node(t.Context(), "n")
	if !graph.IsTransient(err) || asked.Load() != retries+1 {
		t.Errorf("%v after %d requests, want a transient error after %d", err, asked.Load(), retries+1)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the token: %v", err)
	}
}

func TestWhatErrorsMean(t *testing.T) {
	status := func(code int, why, message string) string {
		return fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": %q, "message": %q}`, code, why, message)
	}
	for _, c := range []struct {
		code      int
		body      string
		is        error
		transient bool
		says      string
	}{
		{404, status(404, "NotFound", "no"), fs.ErrNotExist, false, ": the server has none"},
		{403, status(403, "Forbidden", "nodes is forbidden"), fs.ErrPermission, false, `a ClusterRole with {apiGroups: [""], resources: ["nodes"], resourceNames: ["n"], verbs: ["get"]}`},
		{401, status(401, "Unauthorized", "no"), ErrUnknown, false, "renew its token or certificate"},
		{409, status(409, "Conflict", "no"), ErrConflict, false, ""},
		{422, status(422, "Invalid", "spec is wrong"), nil, false, "the server refuses it: spec is wrong"},
		{500, status(500, "InternalError", "etcd is gone"), nil, true, "etcd is gone: the server answers, and cannot serve it"},
		{502, "<html>a proxy", nil, true, "look at the API server and its etcd"},
		{200, "<html>a portal that wants a login", nil, true, ""},
	} {
		client := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) { say(w, c.code, c.body) })
		_, err := client.Node(t.Context(), "n")
		if err == nil || c.is != nil && !errors.Is(err, c.is) || graph.IsTransient(err) != c.transient || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d: %v (transient: %v); want %q", c.code, err, graph.IsTransient(err), c.says)
		}
	}
}

// A server whose certificate another CA signed is up, and can be reached. The line that keeps it:
// errors.go, hint.
func TestAnotherCA(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	other := base64.StdEncoding.EncodeToString([]byte(pki.New(t, "other").PEM))
	write(t, path, fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], "+
		"clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}]}", s.URL, other))
	c, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Node(t.Context(), "n")
	if want := "look at the server's certificate, at certificate-authority in " + path; !graph.IsTransient(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A renewed token is read again, since a bound token is valid for an hour.
func TestATokenIsReadAgain(t *testing.T) {
	var seen atomic.Value
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "first")
	c := server(t, fmt.Sprintf("tokenFile: %q", token), func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		if seen.Load() == "Bearer first" {
			say(w, http.StatusOK, aNode)
			return
		}
		say(w, http.StatusUnauthorized, `{"kind": "Status", "apiVersion": "v1", "code": 401, "reason": "Unauthorized"}`)
	})
	if _, err := c.Node(t.Context(), "n"); err != nil || seen.Load() != "Bearer first" {
		t.Errorf("the server saw %v, want Bearer first; error %v", seen.Load(), err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the pass was given up")
	c := server(t, "token: secret", func(http.ResponseWriter, *http.Request) { cancel(cause) })
	if _, err := c.Node(ctx, "n"); !errors.Is(err, cause) {
		t.Errorf("%v; want the cause", err)
	}
}

func TestKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, says string }{
		"no yaml":        {"a: [", "is not a kubeconfig"},
		"no context":     {"{apiVersion: v1, kind: Config}", "it needs a current-context"},
		"a wrong CA":     {`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: "https://x", certificate-authority-data: AAAA}}]}`, "certificate"},
		"a CA that went": {`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: "https://x", certificate-authority: gone.crt}}]}`, "gone.crt"},
	} {
		path := filepath.Join(dir, "kubeconfig")
		write(t, path, c.text)
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want %q and the path", name, err, c.says)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe, Options{}); err == nil || !strings.Contains(err.Error(), "expected a regular file, found a pipe") {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A dry run starts no program.
func TestCredentialsOfAProgram(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	marker := filepath.Join(t.TempDir(), "started")
	path := kubeconfig(t, s, fmt.Sprintf(`exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [%q], interactiveMode: Never}`, marker))
	if _, err := Open(path, Options{OnlyFiles: true}); !errors.Is(err, ErrCredentialProgram) {
		t.Errorf("%v; want that it is refused", err)
	}
	c, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Node(t.Context(), "n"); err == nil {
		t.Error("a program that prints no credential is good for one")
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the program was not started: %v", err)
	}
}

// A range is read as the API reads it. Any kubelet may write its own range in an unusual form, and
// one such Node of thousands does not prevent the others.
func TestRangesAreReadAsTheAPIReadsThem(t *testing.T) {
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, `{"metadata": {"resourceVersion": "1"}, "items": [
			{"metadata": {"name": "odd"}, "spec": {"podCIDRs": ["010.1.2.3/024", "FD00:1::1.2.3.04/64"]}},
			{"metadata": {"name": "plain"}, "spec": {"podCIDRs": ["10.1.3.0/24"]}}]}`)
	})
	all, _, err := c.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(all[0].PodCIDRs, all[1].PodCIDRs); got != "[10.1.2.0/24 fd00:1::/64] [10.1.3.0/24]" {
		t.Errorf("the Nodes have %s", got)
	}
}
