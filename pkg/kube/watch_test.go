package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// A watch wakes its reader for a change that counts, and for one that cannot be read, since the
// reader then reads everything again. A change that does not count is not sent again.
func TestWatches(t *testing.T) {
	node := func(event, version, more string) string {
		return fmt.Sprintf(`{"type": %q, "object": {"kind": "Node", "metadata": {"name": "n", "resourceVersion": %q}%s}}`+"\n",
			event, version, more)
	}
	const ranges = `, "spec": {"podCIDRs": ["10.1.0.0/24"]}`
	known := []Node{{Name: "n", PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24")}}}
	for name, c := range map[string]struct {
		events string
		wakes  bool
	}{
		"a node's pod CIDR changes":  {node("BOOKMARK", "8", "") + node("MODIFIED", "9", `, "spec": {"podCIDRs": ["10.2.0.0/24"]}`), true},
		"a node's pod CIDR is gone":  {node("MODIFIED", "9", ""), true},
		"deleted":                    {node("DELETED", "9", ranges), true},
		"only the heartbeat changes": {node("MODIFIED", "8", ranges) + node("MODIFIED", "9", ranges), false},
		"a bookmark":                 {node("BOOKMARK", "9", ""), false},
		"the version is too old":     {`{"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}}`, true},
		"no JSON":                    {"<html>", true},
		"an answer without an end":   {`{"type": "` + strings.Repeat("x", maxAnswer+1), true},
		"the answer is cut off":      {node("BOOKMARK", "9", "") + `{"type": "MOD`, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var asked atomic.Int32
			client := server(t, "token: secret", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				from := r.URL.Query().Get("resourceVersion")
				if asked.Add(1) == 1 {
					fmt.Fprint(w, c.events)
					return
				}
				if from != "9" {
					t.Errorf("it is asked for again from %q, want 9", from)
				}
				cancel()
			})
			err := client.NodesChanged(ctx, "", known, "7")
			if woken := err == nil; woken != c.wakes || !woken && !errors.Is(err, context.Canceled) {
				t.Errorf("%v after %d requests, want it to wake: %v", err, asked.Load(), c.wakes)
			}
		})
	}
}

// A server without any version answers each watch with 410. That wakes the reader, but after a
// pause. The lines that keep it: watch.go, await; errors.go, expired.
func TestAWatchThatIsRefusedAsTooOldWakes(t *testing.T) {
	for name, body := range map[string]string{
		"Kubernetes since 1.18":  `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version"}`,
		"Kubernetes before 1.18": `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Gone"}`,
		"a proxy answers":        "<html>",
	} {
		client := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusGone, body) })
		began := time.Now()
		if err := client.Changed(t.Context(), Watched{Resource: "configmaps", Namespace: "n", Name: "m", Version: "7"}); err != nil {
			t.Errorf("%s: Changed returns %v", name, err)
		}
		if time.Since(began) < time.Second {
			t.Errorf("%s: it is asked again without a pause", name)
		}
	}
}

// If the server has dropped the rest of a list, the caller reads the list again from its beginning.
// The error does not say that the server is down, since it has answered. The lines that keep it:
// errors.go, explain and expired.
func TestAListThatExpires(t *testing.T) {
	client := server(t, "token: secret", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continue") == "" {
			say(w, http.StatusOK, `{"kind": "NodeList", "apiVersion": "v1", "metadata": {"continue": "more"}, "items": []}`)
			return
		}
		say(w, http.StatusGone, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "the continue token is too old"}`)
	})
	_, _, err := client.Nodes(t.Context())
	if !graph.IsTransient(err) || !strings.Contains(err.Error(), "(the continue token is too old): the next look reads all of it again") || strings.Contains(err.Error(), "is up") {
		t.Errorf("%v (transient: %v)", err, graph.IsTransient(err))
	}
}
