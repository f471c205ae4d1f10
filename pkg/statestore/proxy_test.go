package statestore_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// A proxy's answer to CONNECT is not an answer of the store. The error names the proxy, shows no
// password of it and says what to do. It is final if another try would fail in the same way.
// net/http reads the environment once in a process, so a process of its own makes the request.
//
// The lines that keep it: pkg/statestore/transfer/server_errors.go throughProxy, Unwrap;
// pkg/statestore/transfer/client.go Bound.
func TestProxyRefuses(t *testing.T) {
	const child = "NETWRIGHT_TEST_PROXY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestProxyRefuses$", "-test.v")
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "S3_")
		}), child+"=1", "NO_PROXY=", "no_proxy=", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_REGION=x",
			"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var status, asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.Method != http.MethodConnect || r.Host != "far.invalid:443" {
			t.Errorf("the proxy was asked for %s %s", r.Method, r.Host)
		}
		w.WriteHeader(int(status.Load()))
	}))
	defer proxy.Close()
	at := strings.TrimPrefix(proxy.URL, "http://")
	t.Setenv("HTTPS_PROXY", "http://user:secret@"+at)
	t.Setenv("https_proxy", "")
	fetch := func(location string) error {
		s, err := stores.Open(location, "c", stores.Options{})
		if err == nil {
			_, err = s.Fetch(t.Context(), statestore.Revision{})
		}
		return err
	}
	for what, ask := range map[string]func() error{
		"https": func() error { return fetch("https://far.invalid/x") },
		"S3":    func() error { return fetch("s3://b/x?endpoint=https://far.invalid") },
		"an asset": func() error {
			_, _, err := assets.New(nil).Open(t.Context(), "https://far.invalid/x")
			return err
		},
	} {
		for _, c := range []struct {
			status    int64
			transient bool
			want      string
		}{
			{407, false, " says 407 Proxy Authentication Required to a connection with far.invalid:443: put its user and password into HTTPS_PROXY of the unit"},
			{403, false, " says 403 Forbidden to a connection with far.invalid:443: let this node reach that server through it, or name the server in NO_PROXY"},
			{404, false, " says 404 Not Found to a connection"},
			{503, true, " says 503 Service Unavailable to a connection with far.invalid:443: look at the proxy"},
		} {
			status.Store(c.status)
			asked.Store(0)
			err := ask()
			if err == nil || graph.IsTransient(err) != c.transient || !strings.Contains(err.Error(), "the proxy http://"+at+c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v (transient %t); want %q", what, err, graph.IsTransient(err), c.want)
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v is taken for what the store says", what, err)
			}
			if n := asked.Load(); n > 3 || n != 1 && !c.transient {
				t.Errorf("%s: %d requests after %d", what, n, c.status)
			}
		}
	}
}
