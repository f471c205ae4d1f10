package transfer

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// No test asks a name server.
func TestExplainNoSuchHost(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "mirror.example.com", Path: "/a", RawQuery: "token=secret"}
	err := Explain(t.Context(), &url.Error{Op: "Get", URL: u.String(), Err: &net.DNSError{Err: "no such host", Name: u.Host, IsNotFound: true}}, "")
	if !graph.IsTransient(err) || !strings.Contains(err.Error(), "resolv.conf") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v (transient %v)", err, graph.IsTransient(err))
	}
}

// A lookup that gets no file descriptor is neither the fault of the name nor of the resolver. The
// line that keeps it: server_errors.go, dns (socket).
func TestExplainNoDescriptor(t *testing.T) {
	names := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}}
	_, err := names.LookupHost(t.Context(), "mirror.example.com.")
	err = Explain(t.Context(), err, "")
	if !graph.IsTransient(err) || !strings.Contains(err.Error(), "too many open files") || strings.Contains(err.Error(), "resolv.conf") {
		t.Errorf("%v (transient %v)", err, graph.IsTransient(err))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "1h": 0,
		"Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		r := &http.Response{Header: http.Header{"Retry-After": {text}}}
		if got := RetryAfter(r, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// No request for a cloud's metadata goes through a proxy, whatever the environment says.
func TestProxyExcludesMetadata(t *testing.T) {
	for _, at := range []string{"http://169.254.169.254/latest/api/token", "http://[fd00:ec2::254]/"} {
		r, err := http.NewRequest(http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if via, err := Proxy(r); via != nil || err != nil {
			t.Errorf("%s goes through %v, %v", at, via, err)
		}
	}
}

// A request that fails says so if the proxy's variable is not a URL. Its text shows no part of the
// variable.
func TestExplainABadProxy(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for value, bad := range map[string]bool{
		"": false, "http://10.0.0.1:3128": false, "10.0.0.1:3128": false, "http://user:se%23cret@proxy:3128/": false, "proxy.example.com": false,
		"http://user:se#cret@proxy:3128": true, "http://user:se/cret@proxy:3128": true, "http://user:12#cret@proxy:3128": true,
		"user:se%zzcret@proxy:3128": true, "http://user:se cret@proxy:3128": true, "http://": true,
	} {
		t.Setenv("HTTPS_PROXY", value)
		got := Explain(t.Context(), refused, "")
		if !graph.IsTransient(got) || strings.Contains(got.Error(), "HTTPS_PROXY of the unit is not the URL of a proxy") != bad || strings.Contains(got.Error(), "cret") {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// A server's certificate that expired has the same error in each look.
func TestExplainHasNoPresentTime(t *testing.T) {
	expired := func(detail string) error {
		return Explain(t.Context(), x509.CertificateInvalidError{Cert: &x509.Certificate{Subject: pkix.Name{CommonName: "store"},
			SerialNumber: big.NewInt(1)}, Reason: x509.Expired, Detail: detail}, "")
	}
	first, second := expired("current time 1 is after 0"), expired("current time 2 is after 0")
	if first.Error() != second.Error() || !graph.IsTransient(first) || !strings.Contains(first.Error(), "CN=store") {
		t.Errorf("%v, then %v", first, second)
	}
}
