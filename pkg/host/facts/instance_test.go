package facts

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/test/imds"
)

// metadata returns a client of a test's metadata service.
func metadata(t *testing.T, s *imds.Server) *imdsClient {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client := newIMDS()
	t.Cleanup(client.client.CloseIdleConnections)
	client.bases = []string{server.URL}
	return client
}

func TestInstance(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // a request that goes there fails
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	s := &imds.Server{Values: imds.Instance("#!/bin/sh\n")}
	client := metadata(t, s)
	got, err := learnInstance(t.Context(), client, true)
	if err != nil {
		t.Fatal(err)
	}
	prefixes := func(texts ...string) (out []netip.Prefix) {
		for _, text := range texts {
			out = append(out, netip.MustParsePrefix(text))
		}
		return out
	}
	want := &Instance{
		ID: "i-0123456789abcdef0", Type: "m5.large", Region: "eu-central-1", Zone: "eu-central-1b", UserData: sha256.Sum256([]byte("#!/bin/sh\n")),
		Tags: map[string]string{"Name": "worker", "team": "network"},
		Interfaces: []ENI{
			{MAC: "02:00:00:00:00:01", ID: "eni-1", Subnet: "subnet-1", VPC: "vpc-1", SubnetRanges: prefixes("10.77.0.0/24", "fd00:77::/64"),
				VPCRanges: prefixes("10.77.0.0/16", "100.64.0.0/16"), Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.20"), netip.MustParseAddr("10.77.0.21"), netip.MustParseAddr("fd00:77::20")},
				Delegated: prefixes("10.77.0.64/28"), SecurityGroups: []string{"sg-1", "sg-2"}},
			{MAC: "02:00:00:00:00:02", ID: "eni-2", Device: 1, Subnet: "subnet-1", VPC: "vpc-1", SubnetRanges: prefixes("10.77.0.0/24"),
				VPCRanges: prefixes("10.77.0.0/16", "100.64.0.0/16"), Addresses: []netip.Addr{netip.MustParseAddr("10.77.0.30")}, SecurityGroups: []string{"sg-1"}},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	asked := s.Asked()
	if asked[0] != "PUT api/token" || slices.Index(asked[1:], "PUT api/token") >= 0 {
		t.Errorf("asked %q: want one token, first", asked)
	}

	// A pass makes one request, with its present token. A new token replaces one that has ended.
	if _, err := learnInstance(t.Context(), client, false); err != nil || strings.Join(s.Asked(), " ") != "GET dynamic/instance-identity/document" {
		t.Errorf("learnInstance returns %v", err)
	}
	s.Expire()
	if _, err := learnInstance(t.Context(), client, false); err != nil {
		t.Error(err)
	}
	if asked := s.Asked(); len(asked) != 3 || asked[1] != "PUT api/token" {
		t.Errorf("with a token that ended: %q", asked)
	}
}

// A fact that the metadata does not have is left out.
func TestInstanceThatSaysLittle(t *testing.T) {
	values := imds.Instance("")
	for path := range values {
		if strings.HasPrefix(path, "meta-data/tags/") || strings.HasSuffix(path, "-prefix") {
			delete(values, path)
		}
	}
	got, err := learnInstance(t.Context(), metadata(t, &imds.Server{Values: values}), true)
	if err != nil || got.Tags != nil || got.UserData != (blob.Digest{}) || got.Interfaces[0].Delegated != nil {
		t.Errorf("learnInstance returns %+v (%v)", got, err)
	}
}

// A service that does not answer, is switched off or is not AWS' causes an error that says what to
// look at. The requests stay within the limits of time and number.
func TestInstanceWithoutMetadata(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		server *imds.Server
		base   string
		want   string
	}{
		"nobody":      {base: dead, want: "nobody answers: metadata is switched off"},
		"silent":      {base: "http://" + silent.Addr().String(), want: "nobody answers"},
		"forbidden":   {server: &imds.Server{Refuse: func(*http.Request) int { return http.StatusForbidden }}, want: "metadata is switched off for this instance"},
		"overloaded":  {server: &imds.Server{Refuse: func(*http.Request) int { return http.StatusServiceUnavailable }}, want: "ask for a token: status 503"},
		"not AWS":     {server: &imds.Server{Values: map[string]string{"dynamic/instance-identity/document": "<html>"}}, want: `identity document is not valid: "<html>"`},
		"no document": {server: &imds.Server{}, want: "/document: it has none"},
		"endless":     {server: &imds.Server{Values: map[string]string{"dynamic/instance-identity/document": strings.Repeat("x", 1<<20)}}, want: "more than 65536 bytes"},
		"no token is good": {server: &imds.Server{Refuse: func(r *http.Request) int {
			if r.Method == http.MethodGet {
				return http.StatusUnauthorized
			}
			return 0
		}}, want: "status 401"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newIMDS()
			defer client.client.CloseIdleConnections()
			client.bases = []string{c.base}
			if c.server != nil {
				client = metadata(t, c.server)
			}
			got, err := learnInstance(t.Context(), client, true)
			if got != nil || err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), client.bases[0]+" ", ""), c.want) {
				t.Errorf("%+v, %v: want %q", got, err, c.want)
			}
			if c.server != nil {
				if asked := c.server.Asked(); len(asked) > 4 {
					t.Errorf("asked %d times: %q", len(asked), asked)
				}
			}
		})
	}
}

// A cancelled request ends at once.
func TestInstanceCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("given up"))
	if _, err := learnInstance(ctx, metadata(t, &imds.Server{Values: imds.Instance("")}), true); err == nil {
		t.Error("no error")
	}
}

// On a machine that is not of AWS nothing is requested, whatever server would answer.
func TestNoInstanceElsewhere(t *testing.T) {
	f := &Facts{Cloud: "gce"}
	(&Sources{}).LearnInstance(t.Context(), f, true)
	if f.Instance != nil || f.Problems != nil {
		t.Errorf("got %+v", f)
	}
}

// A fact that the firmware has is not requested.
func TestTypeByFirmware(t *testing.T) {
	for _, c := range []struct{ vendor, product, want string }{
		{"Amazon EC2\n", "m6i.large\n", "m6i.large"}, {"Amazon EC2\n", "c5.metal\n", "c5.metal"}, {"Xen\n", "HVM domU\n", ""}, {"Google\n", "x.large\n", ""}, {"Amazon EC2\n", "", ""},
	} {
		k := fakeKernel(t, map[string]string{"/sys/class/dmi/id/sys_vendor": c.vendor, "/sys/class/dmi/id/product_name": c.product})
		if got := nitroType(k); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.vendor, c.product, got, c.want)
		}
		if f := (&Facts{Cloud: "aws"}); c.want != "" {
			(&Sources{kernel: k}).LearnInstance(t.Context(), f, false)
			if f.Instance == nil || f.Instance.Type != c.want || f.Problems != nil {
				t.Errorf("got %+v", f)
			}
		}
	}
}

// The benchmark measures how long it takes to know that a machine is not of a cloud.
func BenchmarkNotOnACloud(b *testing.B) {
	l, f := sourcesOf(b, Options{Root: "/"}), &Facts{}
	for b.Loop() {
		f.Cloud = cloudOf(l.kernel)
		l.LearnInstance(b.Context(), f, true)
	}
}
