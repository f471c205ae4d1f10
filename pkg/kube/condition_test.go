package kube

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// A busy server gets one request, and its answer says when to come back.
func TestABusyServerIsLeftAlone(t *testing.T) {
	var asked atomic.Int32
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "37")
		say(w, http.StatusTooManyRequests, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 37}}`)
	})
	err := c.SetCondition(t.Context(), "n", Condition{Type: "X", Status: True})
	if !graph.IsTransient(err) || RetryAfter(err) != 37*time.Second || asked.Load() != 1 {
		t.Errorf("%v, after %s, %d requests", err, RetryAfter(err), asked.Load())
	}
	if RetryAfter(nil) != 0 || RetryAfter(io.EOF) != 0 {
		t.Error("another error asks for a pause")
	}
}

// A server that asks for a pause of a day gets one of some minutes, and the error says so. A watch
// does not pause for that.
func TestAServerThatAsksForADay(t *testing.T) {
	var asked atomic.Int32
	c := server(t, "token: secret", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "86400")
		say(w, http.StatusTooManyRequests, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 86400}}`)
	})
	for name, err := range map[string]error{
		"write": c.SetCondition(t.Context(), "n", Condition{Type: "X", Status: True}),
		"watch": c.Changed(t.Context(), Watched{Resource: "nodes", Name: "n", Version: "1"}),
	} {
		if !graph.IsTransient(err) || RetryAfter(err) != maxRetryAfter || !strings.Contains(err.Error(), "asks for a pause of 24h0m0s, and the agent pauses 5m0s") {
			t.Errorf("%s: %v, after %s", name, err, RetryAfter(err))
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests for two", asked.Load())
	}
}

// A patch names one condition and nothing else of the Node.
func TestOneCondition(t *testing.T) {
	var body atomic.Value
	c := server(t, "token: secret", func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body.Store(r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(all))
		say(w, http.StatusOK, aNode)
	})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := c.SetCondition(t.Context(), "n", Condition{Type: "NetworkConverged", Status: False, Reason: "Failing", Message: "m", Since: at, Seen: at.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	want := `PATCH /api/v1/nodes/n/status application/strategic-merge-patch+json {"status":{"conditions":[{"type":"NetworkConverged","status":"False",` +
		`"lastHeartbeatTime":"2026-01-02T04:04:05Z","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Failing","message":"m"}]}}`
	if got := strings.TrimSpace(body.Load().(string)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
